"""Nested JSON: objects of objects, lists of names, or objects with name, id and children."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any

from hiercos.taxonomy.build import FoundNodes
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.formats.json_trees import is_flat, parsed_json, taxonomy_from_dict
from hiercos.taxonomy.tree import Taxonomy

ROOT = "root"
MOST_LEVELS = 200  # written; Python reads JSON that is nested some 1000 deep, and a level nests twice
Marks = Callable[[Collection[Any]], Sequence[str]]


@dataclass(frozen=True)
class _Entry:
    """A node as the file has it, nothing of it checked yet."""

    name: Any
    children: Any = None
    given_id: Any = ""
    label: Any = None  # class index
    mark: str = ""  # where it stands in the file, where that is known


def read_json(text: str) -> Taxonomy:
    """The taxonomy of a nested or a flat JSON text."""
    value = parsed_json(text)
    return taxonomy_from_dict(value) if is_flat(value) else taxonomy_from_nested(value)


def taxonomy_from_nested(value: object, marks: Marks | None = None) -> Taxonomy:
    """The taxonomy of nested objects and lists.

    A lone object called `root` at the top is the root. The classes are in the order of the file, or in that of the
    numbers `class` where the leaves have them.

    Args:
        value: the objects and lists.
        marks: where the items of a list and the keys of an object stand in the file, in their order; None where
            that is not known.
    """
    faults: list[str] = []
    nodes = FoundNodes()
    found = _Entries(faults, marks)
    pending = [(-1, entry) for entry in reversed(found.top(value))]
    while pending:
        parent, entry = pending.pop()
        node = _append(nodes, parent, entry, faults)
        children = list(found.of(entry.children, nodes.place(node))) if entry.children is not None else []
        pending += [(node, child) for child in reversed(children)]
    return nodes.tree(faults, None if marks is None else str)


@dataclass(frozen=True)
class _Entries:
    """Finds the nodes that values stand for, and says what stands for none."""

    faults: list[str]
    marks: Marks | None

    def top(self, value: object) -> list[_Entry]:
        """Those of the whole file, without one that is the root."""
        top = list(self.of(value, "the top"))
        if isinstance(value, Mapping) and len(top) == 1 and top[0].name == ROOT and top[0].children:
            return list(self.of(top[0].children, "the root"))
        return top

    def of(self, value: object, place: str) -> Iterator[_Entry]:
        """Those of an object or a list."""
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            (mark, *_) = self._marks(value)
            yield _Entry(value["name"], value.get("children"), value.get("id", ""), value.get("class"), mark)
        elif isinstance(value, Mapping):
            for (name, children), mark in zip(value.items(), self._marks(value), strict=True):
                yield _Entry(name, children, mark=mark)
        elif isinstance(value, list):
            for item, mark in zip(value, self._marks(value), strict=True):
                if isinstance(item, str):
                    yield _Entry(item, mark=mark)
                elif isinstance(item, Mapping):
                    yield from self.of(item, place)
                else:
                    start = f"{mark}: " if mark else ""
                    shown = "null" if item is None else shortened(item)
                    self.faults.append(f"{start}under {place}: expected a name in quotes or an object, got {shown}")
        else:
            self.faults.append(f"under {place}: expected an object, a list or null, got {shortened(value)}")

    def _marks(self, value: Collection[Any]) -> Sequence[str]:
        return [""] * len(value) if self.marks is None else self.marks(value)


def _append(nodes: FoundNodes, parent: int, entry: _Entry, faults: list[str]) -> int:
    if not isinstance(entry.name, str) or not entry.name.strip():
        faults.append(f"under {nodes.place(parent)}: a name is empty")
    if not isinstance(entry.given_id, str):
        faults.append(f"{entry.name!r} under {nodes.place(parent)}: expected a text id, got {entry.given_id!r}")
    return nodes.add(parent, entry.name or "", entry.given_id, entry.label, entry.mark)


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
