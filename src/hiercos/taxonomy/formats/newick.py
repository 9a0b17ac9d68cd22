"""Newick, the usual format of phylogenetic trees: nested parentheses, each followed by a name.

The outermost pair is the root. Branch lengths and comments are skipped, except our own comment that gives the class
index where the class order is not the file order. Quoted names are kept literally; in unquoted ones an underscore is
a blank, as the format says. An unquoted number after a closing parenthesis is a support value, not a name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
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
NODE_NEXT = ("", "(", ",")  # signs before a node
MOST_SHOWN = 20  # longest excerpt of the file in a message, in characters


def read_newick(text: str) -> Taxonomy:
    """Read a taxonomy from one Newick tree, classes in file order unless comments give their class indices.

    Inner nodes without a name are called `clade 1`, `clade 2`, … in file order.
    """
    if not text.strip():
        raise TaxonomyError("the file is empty: expected a tree in parentheses, such as (cat,dog);")
    if text.lstrip()[: len(NEXUS)].upper() == NEXUS:
        raise TaxonomyError("NEXUS files are not supported: expected Newick, one tree in parentheses")
    parser = _Parser(NodeTable(where=partial(_where, text)))
    for token in _tokens(text):
        if fault := parser.read(token):
            raise TaxonomyError(f"{_where(text, token.place)}: {fault}")
    if parser.before != ";":
        missing = f"{len(parser.open)} more ')' and ';'" if parser.open else "';'"
        raise TaxonomyError(f"{_where(text, len(text))}: expected {missing}, got the end of the file")
    faults = [f"{_where(text, place)}: expected the name of a leaf before {sign!r}" for sign, place in parser.unnamed]
    _name_inner_nodes(parser.nodes)
    return parser.nodes.tree(faults)


def _where(text: str, place: int) -> str:
    line = text.count("\n", 0, place) + 1
    return f"line {line}, column {place - text.rfind(chr(10), 0, place)}"


class _Token(NamedTuple):
    """A sign, a name ("quoted" or "plain", unescaped) or a comment, and the offset of its first character."""

    kind: str
    text: str
    place: int


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


@dataclass
class _Parser:
    """Reads one token after the other."""

    nodes: NodeTable  # nodes found so far; an unnamed node has the name ""
    open: list[int] = field(default_factory=list)  # nodes whose children are being read, the innermost last
    last: int = ROOT  # node just read
    before: str = ""  # the sign just read, or "name" or "length"; "" at the start
    # leaves without a name, each by the sign after it and its offset
    unnamed: list[tuple[str, int]] = field(default_factory=list)

    def read(self, token: _Token) -> str | None:
        """Advance by one token; returns a fault if the token is not allowed here."""
        shown = repr(token.text[:MOST_SHOWN])
        if token.kind == "comment":
            number = CLASS_COMMENT.fullmatch(token.text)
            if number and self.before not in NODE_NEXT and self.last != ROOT:
                self.nodes.labels[self.last] = int(number[1])
            return None
        if self.before == ";":
            return f"expected one tree, got {shown} after it"
        if self.before == ":":
            self.before = "length"
            return None if LENGTH.fullmatch(token.text) else f"expected a branch length, got {shown}"
        if token.kind == "sign":
            return self._read_sign(token.text, token.place)
        if self.before in NODE_NEXT:
            self.last = self._add(token.text, token.place)
        elif self.before != ")":
            return f"expected ',' or ')' before {shown}; a name with blanks goes in quotes"
        elif self.last != ROOT and not (token.kind == "plain" and SUPPORT.fullmatch(token.text)):
            self.nodes.names[self.last] = token.text
            self.nodes.places[self.last] = token.place
        self.before = "name"
        return None

    def _read_sign(self, sign: str, place: int) -> str | None:
        if sign == "(":
            if self.before not in NODE_NEXT:
                return "expected ',' before '('"
            self.open.append(self._add("", place) if self.open else ROOT)
        elif sign in ",)" and not self.open:
            return f"expected ';', got {sign!r} outside of all parentheses"
        elif sign == ";" and self.open:
            return f"expected {len(self.open)} more ')' before ';'"
        elif self.before in NODE_NEXT and self.open:
            self.last = self._add("", place)
            self.unnamed.append((sign, place))
        if sign == ")":
            self.last = self.open.pop()
        self.before = sign
        return None

    def _add(self, name: str, place: int) -> int:
        return self.nodes.add(self.open[-1:], name, place=place)


def _name_inner_nodes(nodes: NodeTable) -> None:
    """Give each unnamed inner node a numbered name that is not taken."""
    taken, number = set(nodes.names), 0
    for node in sorted(node for node in nodes.inner_nodes() if not nodes.names[node]):
        number += 1
        while f"{UNNAMED} {number}" in taken:
            number += 1
        nodes.names[node] = f"{UNNAMED} {number}"


def newick_text(taxonomy: Taxonomy) -> str:
    """One line of Newick; if the class order is not the order of the leaves, a comment gives each class index."""
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
