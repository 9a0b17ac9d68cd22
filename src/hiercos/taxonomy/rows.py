"""Taxonomies from rows, one path per class or (parent, child) pairs; every fault is reported with its row."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hiercos.taxonomy.build import NodeTable
from hiercos.taxonomy.tree import PATH_SEPARATOR, Taxonomy


class PathRow(NamedTuple):
    """The path of one class and its position in the input."""

    where: str  # position in the input, for messages, such as `row 7`
    keys: Sequence[str]  # key of each node on the path, unique among siblings, level 1 first
    names: Sequence[str] = ()  # name of each node; the keys by default
    ids: Sequence[str] = ()  # id of each node, "" for none; no ids by default


def tree_from_paths(paths: Iterable[Sequence[str]]) -> Taxonomy:
    """Build the taxonomy of one path of names per class; see `Taxonomy.from_paths`."""
    return tree_from_path_rows((PathRow(f"path {number}", path) for number, path in enumerate(paths, 1)), [])


def tree_from_path_rows(rows: Iterable[PathRow], faults: list[str]) -> Taxonomy:
    """Build the taxonomy of paths, or report every fault at once.

    Args:
        faults: faults of the caller, also those it finds while `rows` is read; further ones are appended.
    """
    nodes = NodeTable(where=str)
    known: dict[tuple[int, str], int] = {}  # (parent, key) -> node
    class_rows: dict[int, str] = {}  # leaf -> its position in the input
    for row in rows:
        if fault := _path_fault(row.keys):
            faults.append(f"{row.where}: {fault}")
            continue
        leaf = _add_path(nodes, known, row, faults)
        if leaf in class_rows:
            faults.append(f"{row.where}: {PATH_SEPARATOR.join(row.keys)!r} is already {class_rows[leaf]}")
        class_rows.setdefault(leaf, row.where)
    inner = nodes.inner_nodes()
    faults += [
        f"{where}: class {nodes.names[leaf]!r} is also an inner node: expected a leaf"
        for leaf, where in class_rows.items()
        if leaf in inner
    ]
    return nodes.tree(faults, list(class_rows))


def _path_fault(path: Sequence[str]) -> str | None:
    if isinstance(path, str):
        return f"expected a sequence of names, got the text {path!r}"
    if not len(path):
        return "expected at least one name, got none"
    for level, name in enumerate(path, 1):
        if not isinstance(name, str):
            return f"expected a name at level {level}, got {name!r}"
        if not name.strip():
            return f"the name at level {level} of {PATH_SEPARATOR.join(map(str, path))!r} is empty"
    return None


def _add_path(nodes: NodeTable, known: dict[tuple[int, str], int], row: PathRow, faults: list[str]) -> int:
    """Append the new nodes of a path and return its last node; a node with two names is a fault."""
    names, ids = row.names or row.keys, row.ids or [""] * len(row.keys)
    node = -1
    for key, name, given_id in zip(row.keys, names, ids, strict=True):
        place = (node, key)
        if place not in known:
            known[place] = nodes.add([node], name, given_id, place=row.where)
        node = known[place]
        if nodes.names[node] != name:
            first = nodes.places[node]
            faults.append(f"{row.where}: {key!r} is called {name!r} here and {nodes.names[node]!r} in {first}")
    return node


class EdgeRow(NamedTuple):
    """A (parent, child) pair and its position in the input."""

    where: str  # position in the input, for messages, such as `row 7`
    parent: str  # name or id of the parent; blank for the root
    child: str  # name or id of the child, unique among all children
    name: str = ""  # display name of the child; if set, `child` is its id


def tree_from_edges(edges: Iterable[tuple[str, str]], *, root: str = "root") -> Taxonomy:
    """Build the taxonomy of (parent, child) pairs; see `Taxonomy.from_edges`."""
    rows = (EdgeRow(f"edge {number}", parent, child) for number, (parent, child) in enumerate(edges, 1))
    return tree_from_edge_rows(rows, [], root=root)


def tree_from_edge_rows(
    rows: Iterable[EdgeRow], faults: list[str], *, root: str = "root", with_ids: bool = False
) -> Taxonomy:
    """Build the taxonomy of edges, or report every fault at once.

    Args:
        rows: edges in any order, several for a node with several parents; the classes keep the order of their edges.
        faults: faults of the caller, also those it finds while `rows` is read; further ones are appended.
        root: name that means the root if it is the only one at the top.
        with_ids: whether to keep the parent and child texts as ids, beside the display names.
    """
    links = _links(rows, faults)
    tops = _tops(links)
    if any(not row.parent for row in _all_rows(links)):
        faults += [
            f"{row.where}: parent {row.parent!r} is never a child, though blank parents mark the top"
            for row in tops.values()
        ]
    under_root = {"", root} if list(tops) == [root] else {""}
    edges = {name: [EdgeRow(row.where, "", name)] for name, row in tops.items() if name not in under_root} | links
    index = {name: node for node, name in enumerate(edges)}
    nodes = NodeTable(where=str)
    for name, own in edges.items():
        parents = [index[row.parent] for row in own if row.parent not in under_root]
        shown = next((row.name for row in own if row.name), name)
        nodes.add(parents, shown, name if with_ids else "", place=own[0].where)
    return nodes.tree(faults)


def _links(rows: Iterable[EdgeRow], faults: list[str]) -> dict[str, list[EdgeRow]]:
    """Edges of each child, in input order; blank parents become ""."""
    links: dict[str, list[EdgeRow]] = {}
    for row in rows:
        parent = row.parent if row.parent.strip() else ""
        own = links.get(row.child, [])
        if not row.child.strip():
            faults.append(f"{row.where}: the child of {parent!r} is empty")
        elif first := next((other for other in own if other.parent == parent), None):
            faults.append(f"{row.where}: {parent!r}, {row.child!r} is already {first.where}")
        else:
            links[row.child] = [*own, row if parent == row.parent else row._replace(parent=parent)]
    return links


def _all_rows(links: dict[str, list[EdgeRow]]) -> Iterator[EdgeRow]:
    return (row for own in links.values() for row in own)


def _tops(links: dict[str, list[EdgeRow]]) -> dict[str, EdgeRow]:
    """Parents that are never a child, in input order, each with the first edge that names it."""
    tops: dict[str, EdgeRow] = {}
    for row in _all_rows(links):
        if row.parent and row.parent not in links:
            tops.setdefault(row.parent, row)
    return tops
