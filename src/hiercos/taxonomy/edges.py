"""Taxonomies from (parent, child) pairs; nodes with two parents, cycles and orphans are reported with their row."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hiercos.taxonomy.build import tree_from_arrays
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.tree import PATH_SEPARATOR, Taxonomy

LONGEST_CYCLE = 6  # names shown of a cycle


class EdgeRow(NamedTuple):
    """A (parent, child) pair and its position in the input.

    Attributes:
        where: position in the input, for messages, such as `row 7`.
        parent: name or id of the parent; blank for the root.
        child: name or id of the child, unique among all children.
        name: display name of the child; if set, `child` is its id.
    """

    where: str
    parent: str
    child: str
    name: str = ""


def tree_from_edges(edges: Iterable[tuple[str, str]], *, root: str = "root") -> Taxonomy:
    """Build the taxonomy of (parent, child) pairs; see `Taxonomy.from_edges`."""
    rows = (EdgeRow(f"edge {number}", parent, child) for number, (parent, child) in enumerate(edges, 1))
    return tree_from_edge_rows(rows, [], root=root)


def tree_from_edge_rows(
    rows: Iterable[EdgeRow], faults: list[str], *, root: str = "root", with_ids: bool = False
) -> Taxonomy:
    """Build the taxonomy of edges, or report every fault at once.

    Args:
        rows: one edge for each node, in any order; the classes keep the order of their edges.
        faults: faults of the caller, also those it finds while `rows` is read; further ones are appended.
        root: name that means the root if it is the only one at the top.
        with_ids: whether to keep the parent and child texts as ids, beside the display names.

    Raises:
        TaxonomyError: if there is any fault.
    """
    links = _links(rows, faults)
    tops = _tops(links)
    if any(not row.parent for row in links.values()):
        faults += [
            f"{row.where}: parent {row.parent!r} is never a child, though blank parents mark the top"
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
    """First edge of each child, in input order; blank parents become ""."""
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
    """Parents that are never a child, in input order, each with the first edge that names it."""
    tops: dict[str, EdgeRow] = {}
    for row in links.values():
        if row.parent and row.parent not in links:
            tops.setdefault(row.parent, row)
    return tops


def cycle_faults(links: dict[str, EdgeRow]) -> Iterator[str]:
    """One fault for each cycle among edges keyed by child: walk up from every name, visiting each name once."""
    seen: dict[str, str] = {}  # name -> first name of the walk that visited it
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
