"""Crosswalks as tables: read those of users and offices, and propose links by similar names."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hiercos.data import column_names, read_table
from hiercos.errors import DataError
from hiercos.taxonomy import PROPOSED, LabelReader, Link, Taxonomy, path_parts

OLD, NEW, WEIGHT, CHANGE = "old", "new", "weight", "change"
LEAST_SIMILARITY = 0.5  # of the names of a proposed link
MOST_PROPOSED = 3  # links proposed for an old node


@dataclass(frozen=True)
class CrosswalkTable:
    """Rows of a table with the columns `old` and `new`, and their weights."""

    source: str  # name of the file in messages
    old: tuple[str, ...]  # ids, paths or names of the old nodes
    new: tuple[str, ...]  # those of the new nodes; "" for an old node that is gone
    weights: tuple[float, ...]  # share of the old node that goes to the new one, in any scale
    numbers: tuple[int, ...]  # rows of the file

    def _row_name(self, row: int) -> str:
        return f"row {self.numbers[row]}"

    def new_nodes(self, new: Taxonomy) -> list[int]:
        """Node of the new taxonomy in each row, -1 for none."""
        named = [row for row, text in enumerate(self.new) if text]
        nodes = np.full(len(self.new), -1)
        nodes[named] = LabelReader(new).read(
            [self.new[row] for row in named],
            source=self.source,
            row_name=lambda index: self._row_name(named[index]),
            inner=True,
            paths_first=True,
        )
        return [int(node) for node in nodes]

    def links(self, old: Taxonomy, new: Taxonomy) -> dict[int, list[tuple[int, float]]]:
        """New nodes and weights of each old node, as `crosswalk` takes them."""
        reader = LabelReader(old)
        nodes = reader.read(self.old, source=self.source, row_name=self._row_name, inner=True, paths_first=True)
        found: dict[int, list[tuple[int, float]]] = {}
        for node, target, weight in zip(nodes.tolist(), self.new_nodes(new), self.weights, strict=True):
            found.setdefault(node, []).extend([(target, weight)] if target >= 0 else [])
        return found

    def candidates(self, new: Taxonomy) -> Mapping[str, dict[int, float]]:
        """Weights of the new nodes of each old label: its text in the table, and the last name of a path if unique."""
        found: dict[str, dict[int, float]] = {}
        for text, node, weight in zip(self.old, self.new_nodes(new), self.weights, strict=True):
            own = found.setdefault(label_key(text), {})
            if node >= 0:
                own[node] = own.get(node, 0) + weight
        ends: dict[str, list[str]] = {}
        for text in found:
            ends.setdefault(path_parts(text)[-1], []).append(text)
        return {end: found[texts[0]] for end, texts in ends.items() if len(texts) == 1} | found


def label_key(text: str) -> str:
    """A label with the same spaces around the names of a path, whoever wrote it."""
    return " > ".join(path_parts(text))


def read_crosswalk(path: Path) -> CrosswalkTable:
    """Read a table of links: the columns `old` and `new`, and `weight` or `change` if there are any.

    This is what `hiercos taxonomy crosswalk` writes, and what offices publish. Rows that are only proposed, and those
    of new nodes without an old one, are left out.

    Raises:
        DataError: for a missing column or a weight that is not a number above 0.
    """
    optional = [name for name in (WEIGHT, CHANGE) if name in column_names(path)]
    table = read_table(path, columns=(OLD, NEW), optional=optional)
    none = ("",) * len(table.numbers)
    cells = [table.columns.get(name, none) for name in (OLD, NEW, WEIGHT, CHANGE)]
    kept = [
        (old.strip(), new.strip(), _weight(f"{path}: row {number}", weight), number)
        for old, new, weight, change, number in zip(*cells, table.numbers, strict=True)
        if old.strip() and change.strip() != PROPOSED
    ]
    if not kept:
        raise DataError(f"{path}: expected at least one row with an old node, got none")
    return CrosswalkTable(str(path), *zip(*kept, strict=True))


def _weight(where: str, cell: str) -> float:
    try:
        value = float(cell) if cell.strip() else 1.0
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise DataError(f"{where}: expected a weight above 0, got {cell!r}")
    return value


def similar_names(old: Taxonomy, new: Taxonomy, nodes: list[int]) -> list[Link]:
    """Propose new nodes for some old nodes, by the character n-grams that their names share.

    Returns:
        At most three links for each node, the most similar name first, ties in node order.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not nodes:
        return []
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    known = vectorizer.fit_transform(new.names)  # (N, n-grams)
    wanted = vectorizer.transform([old.names[node] for node in nodes])
    links = []
    for place, node in enumerate(nodes):
        similarity = (wanted[place] @ known.T).toarray()[0]  # (N,)
        best = np.argsort(-similarity, kind="stable")[:MOST_PROPOSED]
        links += [
            Link(node, int(match), "name", score=float(similarity[match]))
            for match in best
            if similarity[match] >= LEAST_SIMILARITY
        ]
    return links
