"""Newick, the usual format of phylogenetic trees: nested parentheses, each followed by a name.

The outermost pair is the root. Branch lengths and comments are skipped, except our own comment that gives the class
index where the class order is not the file order. Quoted names are kept literally; in unquoted ones an underscore is
a blank, as the format says. An unquoted number after a closing parenthesis is a support value, not a name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hiercos.taxonomy.build import NodeTable
from hiercos.taxonomy.checks import IDS_HINT, TaxonomyError
from hiercos.taxonomy.distances import leaf_order
from hiercos.taxonomy.tree import Taxonomy

ROOT = -1
NEXUS = "#NEXUS"
UNNAMED = "clade"  # inner nodes without a name are called this and a number
CLASS_COMMENT = re.compile(r"&hiercos_class=(\d+)")
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
LENGTH = re.compile(NUMBER)
SUPPORT = re.compile(rf"{NUMBER}(?:/{NUMBER})*")  # values of several methods are separated by slashes
TOKEN = re.compile(r"(?P<sign>[(),:;])|(?P<quoted>'(?:[^']|'')*')|(?P<plain>[^\s()\[\]',:;]+)")
PLAIN = re.compile(r"[^\s()\[\]',:;_]+")  # names that are written without quotes
MOST_SHOWN = 20  # longest excerpt of the file in a message, in characters


class _Token(NamedTuple):
    """A token and its position.

    Attributes:
        kind: "sign", "quoted" or "plain" (a name), or "comment".
        text: the sign, the unescaped name, or the content of the comment.
        place: offset of its first character.
    """

    kind: str
    text: str
    place: int


@dataclass
class _ParserState:
    """State of the parser between two tokens.

    Attributes:
        nodes: nodes found so far; an unnamed node has the name "".
        open: nodes whose children are being read, the innermost last.
        last: node just read, None if a new one is expected.
        closed: whether `last` has children, so that its name may follow.
        length: whether a branch length is expected next.
        done: whether the tree has ended.
        faults: faults of leaves without a name.
    """

    nodes: NodeTable = field(default_factory=NodeTable)
    open: list[int] = field(default_factory=list)
    last: int | None = None
    closed: bool = False
    length: bool = False
    done: bool = False
    faults: list[str] = field(default_factory=list)


def read_newick(text: str) -> Taxonomy:
    """Read a taxonomy from one Newick tree, classes in file order unless comments give their class indices.

    Inner nodes without a name are called `clade 1`, `clade 2`, … in file order.

    Raises:
        TaxonomyError: for an empty text, NEXUS, or the first position (line and column) where the text is not Newick,
            else for every leaf without a name and every two siblings of the same name.
    """
    if not text.strip():
        raise TaxonomyError("the file is empty: expected a tree in parentheses, such as (cat,dog);")
    if text.lstrip()[: len(NEXUS)].upper() == NEXUS:
        raise TaxonomyError("NEXUS files are not supported: expected Newick, one tree in parentheses")
    state = _ParserState()
    for token in _tokens(text):
        if fault := _read_token(state, token, text):
            raise TaxonomyError(f"{_where(text, token.place)}: {fault}")
    if not state.done:
        missing = f"{len(state.open)} more ')' and ';'" if state.open else "';'"
        raise TaxonomyError(f"{_where(text, len(text))}: expected {missing}, got the end of the file")
    _name_inner_nodes(state.nodes)
    return state.nodes.tree(state.faults, lambda place: _where(text, place))


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
            yield _Token(str(match.lastgroup), _unescaped(match), place)
            place = match.end()
        else:
            sign = "an open quote" if text[place] == "'" else repr(text[place])
            raise TaxonomyError(f"{_where(text, place)}: not Newick: {sign}")


def _unescaped(match: re.Match[str]) -> str:
    if match.lastgroup == "quoted":
        return match[0][1:-1].replace("''", "'")
    return match[0].replace("_", " ") if match.lastgroup == "plain" else match[0]


def _comment_end(text: str, start: int) -> int:
    """Offset just after the comment that begins at `start`; comments may be nested."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise TaxonomyError(f"{_where(text, start)}: not Newick: an open comment")


def _read_token(state: _ParserState, token: _Token, text: str) -> str | None:
    """Advance the state by one token; returns a fault if the token is not allowed here."""
    if token.kind == "comment":
        _read_comment(state, token.text)
        return None
    if state.done:
        return f"expected one tree, got {token.text[:MOST_SHOWN]!r} after it"
    if state.length:
        state.length = False
        return None if LENGTH.fullmatch(token.text) else f"expected a branch length, got {token.text[:MOST_SHOWN]!r}"
    if token.kind != "sign":
        return _read_name(state, token)
    return _read_sign(state, token, text)


def _read_comment(state: _ParserState, comment: str) -> None:
    number = CLASS_COMMENT.fullmatch(comment)
    if number and state.last is not None and state.last != ROOT:
        state.nodes.labels[state.last] = int(number[1])


def _read_name(state: _ParserState, token: _Token) -> str | None:
    if state.last is None:
        state.last = state.nodes.add(_parent(state), token.text, mark=token.place)
    elif not state.closed:
        return f"expected ',' or ')' before {token.text[:MOST_SHOWN]!r}; a name with blanks goes in quotes"
    elif state.last != ROOT and not (token.kind == "plain" and SUPPORT.fullmatch(token.text)):
        state.nodes.names[state.last] = token.text
        state.nodes.marks[state.last] = token.place
    state.closed = False
    return None


def _parent(state: _ParserState) -> int:
    return state.open[-1] if state.open else ROOT


def _read_sign(state: _ParserState, token: _Token, text: str) -> str | None:
    sign = token.text
    if sign == "(":
        if state.last is not None:
            return "expected ',' before '('"
        state.open.append(state.nodes.add(_parent(state), "", mark=token.place) if state.open else ROOT)
        return None
    if sign in ",)" and not state.open:
        return f"expected ';', got {sign!r} outside of all parentheses"
    if sign == ";" and state.open:
        return f"expected {len(state.open)} more ')' before ';'"
    if state.last is None and state.open:
        state.last = state.nodes.add(_parent(state), "", mark=token.place)
        state.faults.append(f"{_where(text, token.place)}: expected the name of a leaf before {sign!r}")
    state.length, state.done = sign == ":", sign == ";"
    if sign == ",":
        state.last, state.closed = None, False
    elif sign == ")":
        state.last, state.closed = state.open.pop(), True
    return None


def _name_inner_nodes(nodes: NodeTable) -> None:
    """Give each unnamed inner node a numbered name that is not taken."""
    taken, inner, number = set(nodes.names), set(nodes.parents), 0
    for node, name in enumerate(nodes.names):
        if not name and node in inner:
            number += 1
            while f"{UNNAMED} {number}" in taken:
                number += 1
            nodes.names[node] = f"{UNNAMED} {number}"


def newick_text(taxonomy: Taxonomy) -> str:
    """One line of Newick; if the class order is not the order of the leaves, a comment gives each class index.

    Raises:
        TaxonomyError: if there are ids.
    """
    if taxonomy.ids:
        raise TaxonomyError(f"newick cannot hold ids; {IDS_HINT}")
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
            parts.append(_escaped(taxonomy.names[item], inner=False) + comment)
        else:
            first, end = np.searchsorted(taxonomy.parents, [item, item + 1]).tolist()
            family = [part for child in range(first, end) for part in (",", child)][1:]
            name = "" if item == ROOT else _escaped(taxonomy.names[item], inner=True)
            pending += [f"){name}", *reversed(family)]
            parts.append("(")
    return "".join(parts)


def _escaped(name: str, *, inner: bool) -> str:
    if PLAIN.fullmatch(name) and not (inner and SUPPORT.fullmatch(name)):
        return name
    return "'" + name.replace("'", "''") + "'"
