"""Nested JSON: objects of objects, lists of names, or objects with name, id and children."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats.flat import is_flat, taxonomy_from_dict
from hiercos.taxonomy.formats.json_text import parsed_json
from hiercos.taxonomy.found import FoundNodes
from hiercos.taxonomy.tree import Taxonomy

ROOT = "root"
MOST_LEVELS = 200  # written; Python reads JSON that is nested some 1000 deep, and a level nests twice


@dataclass(frozen=True)
class _Entry:
    """A node as the file has it, nothing of it checked yet."""

    name: Any
    children: Any = None
    given_id: Any = ""
    label: Any = None  # class index


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
    nodes = FoundNodes()
    top = _top_entries(value, faults)
    pending = [(-1, entry) for entry in reversed(top)]
    while pending:
        parent, entry = pending.pop()
        node = _append(nodes, parent, entry, faults)
        children = list(_entries(entry.children, nodes.place(node), faults)) if entry.children is not None else []
        pending += [(node, child) for child in reversed(children)]
    return nodes.tree(faults)


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


def _append(nodes: FoundNodes, parent: int, entry: _Entry, faults: list[str]) -> int:
    if not isinstance(entry.name, str) or not entry.name.strip():
        faults.append(f"under {nodes.place(parent)}: a name is empty")
    if not isinstance(entry.given_id, str):
        faults.append(f"{entry.name!r} under {nodes.place(parent)}: expected a text id, got {entry.given_id!r}")
    return nodes.add(parent, entry.name or "", entry.given_id, entry.label)


def nested_json_text(taxonomy: Taxonomy) -> str:
    """Objects with name, id and children, and the class index of each leaf.

    Raises:
        TaxonomyError: if the tree is deeper than nested JSON can be read back.
    """
    if taxonomy.height > MOST_LEVELS:
        raise TaxonomyError(
            f"the tree has {taxonomy.height} levels and nested JSON holds {MOST_LEVELS}; json-flat holds any number"
        )
    return json.dumps(nested_objects(taxonomy), ensure_ascii=False, indent=1) + "\n"


def nested_objects(taxonomy: Taxonomy) -> list[dict[str, Any]]:
    """The nodes of level 1, each an object with name, id, children or class."""
    objects: list[dict[str, Any]] = [{"name": name} for name in taxonomy.names]
    for node, given_id in enumerate(taxonomy.ids):
        if given_id:
            objects[node]["id"] = given_id
    for label, leaf in enumerate(taxonomy.leaves.tolist()):
        objects[leaf]["class"] = label
    for node, parent in enumerate(taxonomy.parents.tolist()):
        if parent >= 0:
            objects[parent].setdefault("children", []).append(objects[node])
    return objects[taxonomy.level(1)]
