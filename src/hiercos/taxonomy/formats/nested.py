"""Nested JSON: objects of objects, lists of names, or objects with name, id and children."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from reprlib import repr as shortened
from typing import Any

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats.flat import is_flat, taxonomy_from_dict
from hiercos.taxonomy.formats.json_text import parsed_json
from hiercos.taxonomy.tree import PATH_SEPARATOR, Taxonomy

ROOT = "root"
MOST_LEVELS = 200  # written; Python reads JSON that is nested some 1000 deep, and a level nests twice


@dataclass(frozen=True)
class _Entry:
    """A node as the file has it, nothing of it checked yet."""

    name: Any
    children: Any = None
    given_id: Any = ""
    label: Any = None  # class index


@dataclass
class _Nodes:
    """The nodes in the order of the file: node i has the i-th entry of each list."""

    names: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)

    def place(self, node: int) -> str:
        """The path of a node, for messages."""
        names = []
        while node >= 0:
            names.append(self.names[node])
            node = self.parents[node]
        return repr(PATH_SEPARATOR.join(reversed(names))) if names else "the top"


def read_json(text: str) -> Taxonomy:
    """The taxonomy of a nested or a flat JSON text."""
    value = parsed_json(text)
    return taxonomy_from_dict(value) if is_flat(value) else taxonomy_from_nested(value)


def taxonomy_from_nested(value: object) -> Taxonomy:
    """The taxonomy of nested objects and lists.

    A lone object called `root` at the top is the root. The classes are in the order of the file, or in that of the
    numbers `class` where the leaves have them.
    """
    faults: list[str] = []
    nodes = _Nodes()
    top = _top_entries(value, faults)
    pending = [(-1, entry) for entry in reversed(top)]
    while pending:
        parent, entry = pending.pop()
        _append(nodes, parent, entry, faults)
        node = len(nodes.names) - 1
        children = list(_entries(entry.children, nodes.place(node), faults)) if entry.children is not None else []
        pending += [(node, child) for child in reversed(children)]
    leaves = _class_order(nodes, faults)
    if faults:
        raise TaxonomyError(faults)
    return Taxonomy.from_arrays(nodes.names, nodes.parents, leaves, ids=nodes.ids)


def _top_entries(value: object, faults: list[str]) -> list[_Entry]:
    top = list(_entries(value, "the top", faults))
    if isinstance(value, Mapping) and len(top) == 1 and top[0].name == ROOT and top[0].children:
        return list(_entries(top[0].children, "the root", faults))
    return top


def _entries(value: object, place: str, faults: list[str]) -> Iterator[_Entry]:
    """The nodes that an object or a list stands for."""
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        yield _Entry(value["name"], value.get("children"), value.get("id", ""), value.get("class"))
    elif isinstance(value, Mapping):
        yield from (_Entry(name, children) for name, children in value.items())
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                yield _Entry(item)
            elif isinstance(item, Mapping):
                yield from _entries(item, place, faults)
            else:
                faults.append(f"under {place}: expected a name in quotes or an object, got {shortened(item)}")
    else:
        faults.append(f"under {place}: expected an object, a list or null, got {shortened(value)}")


def _append(nodes: _Nodes, parent: int, entry: _Entry, faults: list[str]) -> None:
    if not entry.name.strip():
        faults.append(f"under {nodes.place(parent)}: a name is empty")
    if not isinstance(entry.given_id, str):
        faults.append(f"{entry.name!r} under {nodes.place(parent)}: expected a text id, got {entry.given_id!r}")
    nodes.names.append(entry.name)
    nodes.ids.append(entry.given_id)
    nodes.parents.append(parent)
    nodes.labels.append(entry.label)


def _class_order(nodes: _Nodes, faults: list[str]) -> list[int]:
    """The childless nodes in the order of their numbers, or of the file where there are none."""
    inner = set(nodes.parents)
    leaves = [node for node in range(len(nodes.names)) if node not in inner]
    if all(label is None for label in nodes.labels):
        return leaves
    by_label: dict[int, int] = {}
    for leaf in leaves:
        label = nodes.labels[leaf]
        if type(label) is not int or not 0 <= label < len(leaves):
            faults.append(f"{nodes.place(leaf)}: expected a class from 0 to {len(leaves) - 1}, got {label!r}")
        elif by_label.setdefault(label, leaf) != leaf:
            faults.append(f"{nodes.place(leaf)}: class {label} is already {nodes.place(by_label[label])}")
    return [by_label[label] for label in sorted(by_label)]


def nested_json_text(taxonomy: Taxonomy) -> str:
    """Objects with name, id and children, and the class index of each leaf.

    Raises:
        TaxonomyError: if the tree is deeper than nested JSON can be read back.
    """
    if taxonomy.height > MOST_LEVELS:
        raise TaxonomyError(
            f"the tree has {taxonomy.height} levels and nested JSON holds {MOST_LEVELS}; json-flat holds any number"
        )
    objects: list[dict[str, Any]] = [{"name": name} for name in taxonomy.names]
    for node, given_id in enumerate(taxonomy.ids):
        if given_id:
            objects[node]["id"] = given_id
    for label, leaf in enumerate(taxonomy.leaves.tolist()):
        objects[leaf]["class"] = label
    for node, parent in enumerate(taxonomy.parents.tolist()):
        if parent >= 0:
            objects[parent].setdefault("children", []).append(objects[node])
    top = objects[taxonomy.level(1)]
    return json.dumps(top, ensure_ascii=False, indent=1) + "\n"
