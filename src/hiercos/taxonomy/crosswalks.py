"""Crosswalks: what each node of an old taxonomy becomes in a new one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hiercos.taxonomy.describe import counted
from hiercos.taxonomy.growth import TaxonomyChange, taxonomy_change
from hiercos.taxonomy.tree import Taxonomy

CHANGES = ("same", "renamed", "moved", "merged", "split", "gone", "new", "proposed")
PROPOSED = "proposed"  # a link that a similar name suggests and nobody has confirmed


class Link(NamedTuple):
    """One old node and one new node that belong together."""

    old: int  # node of the old taxonomy, -1 for a new node without an old one
    new: int  # node of the new taxonomy, -1 for an old node that is gone
    by: str = ""  # what says so: "table", "id", "path", or "name" for a proposal; "" where a node is missing
    weight: float = 1.0  # share of the old node that goes to the new one
    score: float | None = None  # similarity of the names of a proposal


@dataclass(frozen=True, eq=False)
class Crosswalk:
    """All links between the nodes of two taxonomies; see `crosswalk`."""

    old: Taxonomy
    new: Taxonomy
    links: tuple[Link, ...]  # by old node, then the new nodes without an old one

    @cached_property
    def matched(self) -> TaxonomyChange:
        """The nodes that go to one node each, of merged ones the first; the others count as dropped and added."""
        change = TaxonomyChange(
            self.old, self.new, np.full(self.new.num_nodes, -1), np.full(self.old.num_nodes, -1), self.targets
        )
        for old, nodes in self.targets.items():
            if len(nodes) == 1 and change.old_nodes[nodes[0]] < 0:  # of merged nodes, the first
                change.old_nodes[nodes[0]], change.new_nodes[old] = old, nodes[0]
        return change

    @cached_property
    def targets(self) -> dict[int, list[int]]:
        """New nodes of each old node that has any; proposals do not count."""
        found: dict[int, list[int]] = {}
        for link in self._confirmed:
            found.setdefault(link.old, []).append(link.new)
        return found

    @cached_property
    def _confirmed(self) -> list[Link]:
        return [link for link in self.links if min(link.old, link.new) >= 0 and link.by != "name"]

    @cached_property
    def _sources(self) -> Counter[int]:
        """Number of old nodes of each new node."""
        return Counter(link.new for link in self._confirmed)

    @cached_property
    def _moved(self) -> frozenset[int]:
        return frozenset(self.matched.moved.tolist())

    def change(self, link: Link) -> str:
        """What happens to the old node of a link, one of `CHANGES`."""
        if link.by == "name":
            return PROPOSED
        if min(link.old, link.new) < 0:
            return "new" if link.old < 0 else "gone"
        if len(self.targets[link.old]) > 1:
            return "split"
        if self._sources[link.new] > 1:
            return "merged"
        if link.new in self._moved:
            return "moved"
        return "same" if self.old.names[link.old] == self.new.names[link.new] else "renamed"

    def rows(self) -> list[dict[str, Any]]:
        """One row for each link: the paths and ids of its nodes, the change, and what says so."""
        return [
            {
                **_named("old", self.old, link.old),
                "change": self.change(link),
                **_named("new", self.new, link.new),
                "weight": round(link.weight, 6) if link.by not in ("", "name") else None,
                "by": link.by,
                "score": None if link.score is None else round(link.score, 3),
            }
            for link in self.links
        ]

    def lines(self) -> list[str]:
        """Number of old nodes of each change, and of new nodes."""
        kinds = dict.fromkeys(CHANGES, 0)
        for change, _ in {(self.change(link), link.new if link.old < 0 else link.old) for link in self.links}:
            kinds[change] += 1
        return [f"{change}: {counted(count, 'node', 'nodes')}" for change, count in kinds.items() if count]


def _named(side: str, taxonomy: Taxonomy, node: int) -> dict[str, str]:
    ids = {f"{side}_id": taxonomy.ids[node] if node >= 0 else ""} if taxonomy.ids else {}
    return {side: taxonomy.path_text(node) if node >= 0 else "", **ids}


def crosswalk(
    old: Taxonomy,
    new: Taxonomy,
    table: Mapping[int, Sequence[tuple[int, float]]] | None = None,
    proposals: Sequence[Link] = (),
) -> Crosswalk:
    """Link the nodes of two taxonomies: by the user's table, then by id, then by path or below a linked parent.

    Args:
        old: taxonomy before the change.
        new: taxonomy after the change.
        table: new nodes of old nodes with their weights; an old node without new ones is gone. None for no table.
        proposals: links by similar names, added for old nodes that have no other link.

    Example:
        >>> old = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "bird")])
        >>> new = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "finch"), ("pet", "parrot")])
        >>> crosswalk(old, new, {3: [(3, 1), (4, 1)]}).lines()  # bird to finch and parrot
        ['same: 3 nodes', 'split: 1 node']
    """
    links: list[Link] = []
    known, proposed = _known_links(old, new, table or {}), dict[int, list[Link]]()
    for link in proposals:
        proposed.setdefault(link.old, []).append(link)
    for node in range(old.num_nodes):
        links += known.get(node) or [Link(node, -1), *proposed.get(node, ())]
    reached = {link.new for link in links if link.by != "name"}
    links += [Link(-1, node) for node in range(new.num_nodes) if node not in reached]
    return Crosswalk(old, new, tuple(links))


def _known_links(
    old: Taxonomy, new: Taxonomy, table: Mapping[int, Sequence[tuple[int, float]]]
) -> dict[int, list[Link]]:
    """Links of each old node by the table, by id, by path, or by its name below the node that its parent became."""
    change, ids = taxonomy_change(old, new), set(old.ids) & set(new.ids) - {""}
    children = {
        (int(parent), new.names[node]): node for node in range(new.num_nodes) for parent in new.parent_lists.list(node)
    }
    links: dict[int, list[Link]] = {}
    for node in range(old.num_nodes):  # parents first
        above = [link.new for parent in old.parent_lists.list(node)[:1] for link in links.get(int(parent), ())]
        match = int(change.new_nodes[node])
        if match < 0 and len(above) == 1:
            match = children.get((above[0], old.names[node]), -1)
        if node in table:
            total = sum(weight for _, weight in table[node])
            links[node] = [Link(node, target, "table", weight / total) for target, weight in table[node]]
        elif match >= 0:
            links[node] = [Link(node, match, "id" if old.ids and old.ids[node] in ids else "path")]
    return links
