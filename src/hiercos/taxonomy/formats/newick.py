"""Newick: nested parentheses with a name after each, as trees of life are passed on.

The outermost pair is the root. Branch lengths and comments are skipped, but for our own comment that numbers the
classes where the order of the file is not theirs. Names in quotes are taken as they stand; in others an underscore is
a blank, as the format has it. A bare number after a closed pair is a support value, and no name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hiercos.taxonomy.build import FoundNodes
from hiercos.taxonomy.checks import HOLD_IDS, TaxonomyError
from hiercos.taxonomy.distances import leaf_order
from hiercos.taxonomy.tree import Taxonomy

ROOT = -1
NEXUS = "#NEXUS"
UNNAMED = "clade"  # and a number: what inner nodes without a name are called
CLASS_COMMENT = re.compile(r"&hiercos_class=(\d+)")
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LENGTH = re.compile(NUMBER)
SUPPORT = re.compile(rf"{NUMBER}(?:/{NUMBER})*")  # several methods' values stand side by side
TOKEN = re.compile(r"(?P<sign>[(),:;])|(?P<quoted>'(?:[^']|'')*')|(?P<plain>[^\s()\[\]',:;]+)")
PLAIN = re.compile(r"[^\s()\[\]',:;_]+")  # names that are written without quotes
MOST_SHOWN = 20  # characters of the file in a message


class _Token(NamedTuple):
    """A sign, a name as it is meant ("quoted" or "plain"), or what stands in a comment; and where it begins."""

    kind: str
    text: str
    place: int


@dataclass
class _Reading:
    """What is known after some tokens.

    Attributes:
        nodes: found so far; "" is the name of one without a name.
        open: the nodes whose children are being read, the innermost last.
        last: the node just read, None where one is to begin.
        closed: whether that node has children, so that its name is still to come.
        length: whether a branch length is to come.
        done: whether the tree has ended.
        faults: leaves without a name.
    """

    nodes: FoundNodes = field(default_factory=FoundNodes)
    open: list[int] = field(default_factory=list)
    last: int | None = None
    closed: bool = False
    length: bool = False
    done: bool = False
    faults: list[str] = field(default_factory=list)


def read_newick(text: str) -> Taxonomy:
    """The taxonomy of one Newick tree, its classes in the order of the file unless they are numbered.

    Inner nodes without a name are called `clade 1`, `clade 2`, … in the order of the file.

    Raises:
        TaxonomyError: for an empty text, NEXUS, or the first place where the text is not Newick, by line and column,
            else for every leaf without a name and every two siblings of one name.
    """
    if not text.strip():
        raise TaxonomyError("the file is empty: expected a tree in parentheses, such as (cat,dog);")
    if text.lstrip()[: len(NEXUS)].upper() == NEXUS:
        raise TaxonomyError("a NEXUS file, which is not read: expected Newick, one tree in parentheses")
    reading = _Reading()
    for token in _tokens(text):
        if fault := _read_token(reading, token, text):
            raise TaxonomyError(f"{_where(text, token.place)}: {fault}")
    if not reading.done:
        missing = f"{len(reading.open)} more ')' and ';'" if reading.open else "';'"
        raise TaxonomyError(f"{_where(text, len(text))}: expected {missing}, got the end of the file")
    _name_the_unnamed(reading.nodes)
    return reading.nodes.tree(reading.faults, lambda place: _where(text, place))


def _where(text: str, place: int) -> str:
    line = text.count("\n", 0, place) + 1
    return f"line {line}, column {place - text.rfind(chr(10), 0, place)}"


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
        elif text[place] == "[":
            end = _comment_end(text, place)
            yield _Token("comment", text[place + 1 : end - 1], place)
            place = end
        elif match := TOKEN.match(text, place):
            yield _Token(str(match.lastgroup), _meant(match), place)
            place = match.end()
        else:
            sign = "an open quote" if text[place] == "'" else repr(text[place])
            raise TaxonomyError(f"{_where(text, place)}: not Newick: {sign}")


def _meant(match: re.Match[str]) -> str:
    if match.lastgroup == "quoted":
        return match[0][1:-1].replace("''", "'")
    return match[0].replace("_", " ") if match.lastgroup == "plain" else match[0]


def _comment_end(text: str, start: int) -> int:
    """Just behind the comment that begins at a place; comments may hold comments."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise TaxonomyError(f"{_where(text, start)}: not Newick: an open comment")


def _read_token(reading: _Reading, token: _Token, text: str) -> str | None:
    """Go on by one token; a sentence if it cannot stand here."""
    if token.kind == "comment":
        _read_comment(reading, token.text)
        return None
    if reading.done:
        return f"expected one tree, got {token.text[:MOST_SHOWN]!r} after it"
    if reading.length:
        reading.length = False
        return None if LENGTH.fullmatch(token.text) else f"expected a branch length, got {token.text[:MOST_SHOWN]!r}"
    if token.kind != "sign":
        return _read_name(reading, token)
    return _read_sign(reading, token, text)


def _read_comment(reading: _Reading, comment: str) -> None:
    number = CLASS_COMMENT.fullmatch(comment)
    if number and reading.last is not None and reading.last != ROOT:
        reading.nodes.labels[reading.last] = int(number[1])


def _read_name(reading: _Reading, token: _Token) -> str | None:
    if reading.last is None:
        reading.last = reading.nodes.add(_parent(reading), token.text, mark=token.place)
    elif not reading.closed:
        return f"expected ',' or ')' before {token.text[:MOST_SHOWN]!r}; a name with blanks goes in quotes"
    elif reading.last != ROOT and not (token.kind == "plain" and SUPPORT.fullmatch(token.text)):
        reading.nodes.names[reading.last] = token.text
        reading.nodes.marks[reading.last] = token.place
    reading.closed = False
    return None


def _parent(reading: _Reading) -> int:
    return reading.open[-1] if reading.open else ROOT


def _read_sign(reading: _Reading, token: _Token, text: str) -> str | None:
    sign = token.text
    if sign == "(":
        if reading.last is not None:
            return "expected ',' before '('"
        reading.open.append(reading.nodes.add(_parent(reading), "", mark=token.place) if reading.open else ROOT)
        return None
    if sign in ",)" and not reading.open:
        return f"expected ';', got {sign!r} outside of all parentheses"
    if sign == ";" and reading.open:
        return f"expected {len(reading.open)} more ')' before ';'"
    if reading.last is None and reading.open:
        reading.last = reading.nodes.add(_parent(reading), "", mark=token.place)
        reading.faults.append(f"{_where(text, token.place)}: expected the name of a leaf before {sign!r}")
    reading.length, reading.done = sign == ":", sign == ";"
    if sign == ",":
        reading.last, reading.closed = None, False
    elif sign == ")":
        reading.last, reading.closed = reading.open.pop(), True
    return None


def _name_the_unnamed(nodes: FoundNodes) -> None:
    """Number the inner nodes without a name, past names that are taken."""
    taken, inner, number = set(nodes.names), set(nodes.parents), 0
    for node, name in enumerate(nodes.names):
        if not name and node in inner:
            number += 1
            while f"{UNNAMED} {number}" in taken:
                number += 1
            nodes.names[node] = f"{UNNAMED} {number}"


def newick_text(taxonomy: Taxonomy) -> str:
    """One line; where the classes are not in the order of the leaves, a comment after each gives its number.

    Raises:
        TaxonomyError: if there are ids.
    """
    if taxonomy.ids:
        raise TaxonomyError(f"newick cannot hold ids; {HOLD_IDS}")
    labels = {int(leaf): label for label, leaf in enumerate(taxonomy.leaves)}
    in_order = (np.diff(leaf_order(taxonomy).classes) > 0).all()
    parts: list[str] = []
    pending: list[int | str] = [";\n", ROOT]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item in labels:
            comment = "" if in_order else f"[&hiercos_class={labels[item]}]"
            parts.append(_written(taxonomy.names[item], inner=False) + comment)
        else:
            first, end = np.searchsorted(taxonomy.parents, [item, item + 1]).tolist()
            family = [part for child in range(first, end) for part in (",", child)][1:]
            name = "" if item == ROOT else _written(taxonomy.names[item], inner=True)
            pending += [f"){name}", *reversed(family)]
            parts.append("(")
    return "".join(parts)


def _written(name: str, *, inner: bool) -> str:
    if PLAIN.fullmatch(name) and not (inner and SUPPORT.fullmatch(name)):
        return name
    return "'" + name.replace("'", "''") + "'"
