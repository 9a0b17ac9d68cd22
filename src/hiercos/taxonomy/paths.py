"""Taxonomies from one path per class: a node is identified by its path, and faults are reported with their row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hiercos.taxonomy.build import tree_from_arrays
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.tree import PATH_SEPARATOR, Taxonomy


class PathRow(NamedTuple):
    """The path of one class and its position in the input.

    Attributes:
        where: position in the input, for messages, such as `row 7`.
        keys: key of each node on the path, unique among siblings, level 1 first.
        names: name of each node; the keys by default.
        ids: id of each node, "" for none; no ids by default.
    """

    where: str
    keys: Sequence[str]
    names: Sequence[str] = ()
    ids: Sequence[str] = ()


@dataclass
class _Nodes:
    """Nodes found so far: node i is entry i of each list."""

    names: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    index: dict[tuple[int, str], int] = field(default_factory=dict)  # (parent, key) -> node
    by_id: dict[str, int] = field(default_factory=dict)


def tree_from_paths(paths: Iterable[Sequence[str]]) -> Taxonomy:
    """Build the taxonomy of one path of names per class; see `Taxonomy.from_paths`."""
    return tree_from_path_rows((PathRow(f"path {number}", path) for number, path in enumerate(paths, 1)), [])


def tree_from_path_rows(rows: Iterable[PathRow], faults: list[str]) -> Taxonomy:
    """Build the taxonomy of paths, or report every fault at once.

    Args:
        rows: one path per class, in class order.
        faults: faults of the caller, also those it finds while `rows` is read; further ones are appended.

    Raises:
        TaxonomyError: if there is any fault.
    """
    nodes = _Nodes()
    class_rows: dict[int, str] = {}  # leaf -> its position in the input
    for row in rows:
        if fault := _path_fault(row.keys):
            faults.append(f"{row.where}: {fault}")
            continue
        leaf = _add_path(nodes, row, faults)
        if leaf in class_rows:
            faults.append(f"{row.where}: {PATH_SEPARATOR.join(row.keys)!r} is already {class_rows[leaf]}")
        class_rows.setdefault(leaf, row.where)
    inner = set(nodes.parents)
    faults += [
        f"{where}: class {nodes.names[leaf]!r} is also an inner node: expected a leaf"
        for leaf, where in class_rows.items()
        if leaf in inner
    ]
    if faults:
        raise TaxonomyError(faults)
    return tree_from_arrays(nodes.names, nodes.parents, list(class_rows), ids=nodes.ids)


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


def _add_path(nodes: _Nodes, row: PathRow, faults: list[str]) -> int:
    """Append the new nodes of a path and return its last node; a node with two names is a fault."""
    names, ids = row.names or row.keys, row.ids or [""] * len(row.keys)
    node = -1
    for key, name, given_id in zip(row.keys, names, ids, strict=True):
        parent, node = node, nodes.index.get((node, key), len(nodes.names))
        if node == len(nodes.names):
            _append(nodes, (parent, key), row.where, name=name, given_id=given_id)
            faults += _id_faults(nodes, node)
        elif nodes.names[node] != name:
            faults.append(
                f"{row.where}: {key!r} is called {name!r} here and {nodes.names[node]!r} in {nodes.where[node]}"
            )
    return node


def _append(nodes: _Nodes, parent_and_key: tuple[int, str], where: str, *, name: str, given_id: str) -> None:
    nodes.index[parent_and_key] = len(nodes.names)
    nodes.parents.append(parent_and_key[0])
    nodes.names.append(name)
    nodes.ids.append(given_id)
    nodes.where.append(where)


def _id_faults(nodes: _Nodes, node: int) -> Iterator[str]:
    """The fault of an id that another node has already."""
    given_id = nodes.ids[node]
    if given_id and (first := nodes.by_id.setdefault(given_id, node)) != node:
        yield f"{nodes.where[node]}: id {given_id!r} is already the id of another node in {nodes.where[first]}"
