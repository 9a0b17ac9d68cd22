"""Taxonomies from (parent, child) pairs: two parents, cycles and orphans are found, and said with their place."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hiercos.taxonomy.build import tree_from_arrays
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.tree import PATH_SEPARATOR, Taxonomy

LONGEST_CYCLE = 6  # names shown of a cycle


class EdgeRow(NamedTuple):
    """A parent and a child as they stand somewhere.

    Attributes:
        where: the place, for messages, such as `row 7`.
        parent: what the parent is called; blank for the root.
        child: what the child is called; no other child may be called the same.
        name: the child's display name; with one, `child` is its id.
    """

    where: str
    parent: str
    child: str
    name: str = ""


def tree_from_edges(edges: Iterable[tuple[str, str]], *, root: str = "root") -> Taxonomy:
    """Pairs of (parent, child); see `Taxonomy.from_edges`."""
    rows = (EdgeRow(f"edge {number}", parent, child) for number, (parent, child) in enumerate(edges, 1))
    return tree_from_edge_rows(rows, [], root=root)


def tree_from_edge_rows(
    rows: Iterable[EdgeRow], faults: list[str], *, root: str = "root", with_ids: bool = False
) -> Taxonomy:
    """The taxonomy of some edges, or every fault at once.

    Args:
        rows: one edge for each node, in any order; the classes keep theirs.
        faults: those the caller has found, or finds while `rows` is read; ours are appended.
        root: the name that stands for the root where it is the only one at the top.
        with_ids: keep what the nodes are called as their ids, beside their display names.

    Raises:
        TaxonomyError: if there is any fault at all.
    """
    links = _links(rows, faults)
    tops = _tops(links)
    if any(not row.parent for row in links.values()):
        faults += [
            f"{row.where}: parent {row.parent!r} is itself nowhere a child, though blank parents mark the top"
            for row in tops.values()
        ]
    faults += cycle_faults(links)
    if faults:
        raise TaxonomyError(faults)
    under_root = {"", root} if list(tops) == [root] else {""}
    tree = {name: EdgeRow(row.where, "", name) for name, row in tops.items() if name not in under_root} | links
    index = {name: node for node, name in enumerate(tree)}
    return tree_from_arrays(
        [row.name or name for name, row in tree.items()],
        [-1 if row.parent in under_root else index[row.parent] for row in tree.values()],
        ids=list(tree) if with_ids else (),
    )


def _links(rows: Iterable[EdgeRow], faults: list[str]) -> dict[str, EdgeRow]:
    """The first edge of each child, in order; blank parents become ""."""
    links: dict[str, EdgeRow] = {}
    for row in rows:
        parent = row.parent if row.parent.strip() else ""
        if not row.child.strip():
            faults.append(f"{row.where}: the child of {parent!r} is empty")
        elif row.child not in links:
            links[row.child] = row if parent == row.parent else row._replace(parent=parent)
        elif (first := links[row.child]).parent == parent:
            faults.append(f"{row.where}: {parent!r}, {row.child!r} is already {first.where}")
        else:
            faults.append(
                f"{row.where}: {row.child!r} has two parents, {first.parent!r} ({first.where}) and {parent!r}; "
                "expected a tree"
            )
    return links


def _tops(links: dict[str, EdgeRow]) -> dict[str, EdgeRow]:
    """The parents that are nowhere a child, in order, each with the first edge that names it."""
    tops: dict[str, EdgeRow] = {}
    for row in links.values():
        if row.parent and row.parent not in links:
            tops.setdefault(row.parent, row)
    return tops


def cycle_faults(links: dict[str, EdgeRow]) -> Iterator[str]:
    """One sentence for each cycle among edges by their child: walk up from every name, once over each."""
    seen: dict[str, str] = {}  # name -> the walk that met it, known by its first name
    for start in links:
        name = start
        while name in links and name not in seen:
            seen[name] = start
            name = links[name].parent
        if name in links and seen[name] == start:
            yield _cycle_fault(links, name)


def _cycle_fault(links: dict[str, EdgeRow], start: str) -> str:
    cycle = [start]
    while (name := links[cycle[-1]].parent) != start:
        cycle.append(name)
    shown = [start, *reversed(cycle)]
    if len(shown) > LONGEST_CYCLE:
        shown[LONGEST_CYCLE - 2 : -1] = ["…"]
    return f"{links[start].where}: {start!r} is on a cycle, {PATH_SEPARATOR.join(shown)}"
