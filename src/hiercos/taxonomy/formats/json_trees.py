"""JSON trees, with faults by line and column.

The flat form holds one list for each property of the nodes. The nested form is objects of objects, lists of names, or
objects with name, id and children.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Any, TypeGuard

from hiercos.taxonomy.build import NodeTable
from hiercos.taxonomy.checks import TaxonomyError, check_limits, repeated
from hiercos.taxonomy.graph import NodeLists
from hiercos.taxonomy.tree import Taxonomy


def parsed_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        TaxonomyError: for malformed JSON, nesting deeper than Python reads, and repeated keys in an object.
    """
    faults: list[str] = []

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = repeated(key for key, _ in pairs)
        faults.extend(f"key {key!r} occurs {count} times in one object" for key, count in keys)
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        raise TaxonomyError(message) from error
    except ValueError as error:  # a number of more digits than Python reads
        raise TaxonomyError(f"not JSON that can be read: {error}") from error
    except RecursionError as error:
        raise TaxonomyError("nested deeper than JSON can be read; json-flat holds trees of any depth") from error
    if faults:
        raise TaxonomyError(faults)
    return value


FORMAT = "hiercos-taxonomy"
VERSION = 1


def taxonomy_to_dict(taxonomy: Taxonomy) -> dict[str, Any]:
    """The taxonomy as a dict of plain lists; `taxonomy_from_dict` is the inverse."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "names": list(taxonomy.names),
        "parents": taxonomy.parents.tolist() if taxonomy.is_tree else _parent_lists(taxonomy),
        "leaves": taxonomy.leaves.tolist(),
        "ids": list(taxonomy.ids),
        **({"ranks": list(taxonomy.ranks)} if taxonomy.ranks else {}),
    }


def taxonomy_from_dict(value: object) -> Taxonomy:
    """Build the taxonomy of a dict in the form of `taxonomy_to_dict`; its nodes may have any numbering.

    Raises:
        TaxonomyError: naming every key that is missing or has a value of the wrong type, and every fault of the tree.
    """
    if not is_flat(value):
        raise TaxonomyError(f'expected an object with "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        raise TaxonomyError(f"expected version {VERSION}, got {value.get('version')!r}")
    if faults := list(_list_faults(value)):
        raise TaxonomyError(faults)
    parents = value["parents"]
    lists = NodeLists.of(parents) if parents and isinstance(parents[0], list) else parents
    taxonomy = Taxonomy.from_arrays(value["names"], lists, value["leaves"], ids=value.get("ids", ()))
    check_limits(taxonomy.num_nodes, taxonomy.height)
    return taxonomy.with_ranks(value.get("ranks", ()))


def _parent_lists(taxonomy: Taxonomy) -> list[list[int]]:
    return [taxonomy.parent_lists.list(node).tolist() for node in range(taxonomy.num_nodes)]


def is_flat(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a parsed value is the flat form, of any version."""
    return isinstance(value, Mapping) and value.get("format") == FORMAT


def _list_faults(value: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in (("names", str), ("parents", int), ("leaves", int), ("ids", str), ("ranks", str)):
        items = value.get(key, [] if key in ("ids", "ranks") else None)
        if not isinstance(items, list):
            yield f"{key}: expected a list, got {shortened(items)}"
            continue
        if key == "parents" and items and isinstance(items[0], list):  # a graph: the parents of each node
            yield from _parent_list_faults(items)
            continue
        for place, item in enumerate(items):
            if type(item) is not kind or (isinstance(item, int) and item.bit_length() > 63):
                yield f"{key}[{place}]: expected {'text' if kind is str else 'a whole number'}, got {shortened(item)}"


def _parent_list_faults(items: list[Any]) -> Iterator[str]:
    for place, item in enumerate(items):
        known = isinstance(item, list) and all(type(parent) is int and 0 <= parent < len(items) for parent in item)
        if not known or len(set(item)) < len(item):
            yield f"parents[{place}]: expected a list of distinct nodes, got {shortened(item)}"


def flat_json_text(taxonomy: Taxonomy) -> str:
    """The flat form of a taxonomy as JSON text."""
    return json.dumps(taxonomy_to_dict(taxonomy), ensure_ascii=False) + "\n"


ROOT = "root"
MOST_LEVELS = 200  # limit for writing: Python reads JSON nested about 1000 deep, and a level nests twice
Marks = Callable[[Collection[Any]], Sequence[str]]  # positions in the file of the items of a list or an object


@dataclass(frozen=True)
class _Entry:
    """A node of the file, not yet checked."""

    name: Any
    children: Any = None
    given_id: Any = ""
    label: Any = None  # class index
    mark: str = ""  # position in the file, "" if unknown


def taxonomy_from_json(text: str) -> Taxonomy:
    """Read a taxonomy from nested or flat JSON text."""
    value = parsed_json(text)
    return taxonomy_from_dict(value) if is_flat(value) else taxonomy_from_nested(value)


def taxonomy_from_nested(value: object, marks: Marks | None = None) -> Taxonomy:
    """Build the taxonomy of nested objects and lists.

    A single object named `root` at the top is the root. The classes are in file order, or in the order of the class
    indices `class` if the leaves have them.

    Args:
        value: parsed objects and lists.
        marks: function that gives the file positions of the items of a list or the keys of an object, in order; None
            if positions are unknown.
    """
    faults: list[str] = []
    nodes = NodeTable()
    entries = _Entries(faults, marks)
    pending = [(-1, entry) for entry in reversed(entries.top(value))]
    while pending:
        parent, entry = pending.pop()
        node = _append(nodes, parent, entry, faults)
        children = list(entries.of(entry.children, nodes.quoted_path(node))) if entry.children is not None else []
        pending += [(node, child) for child in reversed(children)]
    return nodes.tree(faults, None if marks is None else str)


@dataclass(frozen=True)
class _Entries:
    """Finds the nodes in parsed values, and appends a fault for each value that is not a node.

    Attributes:
        faults: list to which faults are appended.
        marks: function that gives file positions; None if they are unknown.
    """

    faults: list[str]
    marks: Marks | None

    def top(self, value: object) -> list[_Entry]:
        """Nodes of level 1."""
        top = list(self.of(value, "the top"))
        if isinstance(value, Mapping) and len(top) == 1 and top[0].name == ROOT and top[0].children:
            return list(self.of(top[0].children, "the root"))
        return top

    def of(self, value: object, parent: str) -> Iterator[_Entry]:
        """Nodes of an object or a list; `parent` names their parent in messages."""
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
                    yield from self.of(item, parent)
                else:
                    start = f"{mark}: " if mark else ""
                    shown = "null" if item is None else shortened(item)
                    self.faults.append(f"{start}under {parent}: expected a name in quotes or an object, got {shown}")
        else:
            self.faults.append(f"under {parent}: expected an object, a list or null, got {shortened(value)}")

    def _marks(self, value: Collection[Any]) -> Sequence[str]:
        return [""] * len(value) if self.marks is None else self.marks(value)


def _append(nodes: NodeTable, parent: int, entry: _Entry, faults: list[str]) -> int:
    if not isinstance(entry.name, str) or not entry.name.strip():
        faults.append(f"under {nodes.quoted_path(parent)}: a name is empty")
    if not isinstance(entry.given_id, str):
        faults.append(f"{entry.name!r} under {nodes.quoted_path(parent)}: expected a text id, got {entry.given_id!r}")
    return nodes.add(parent, entry.name or "", entry.given_id, entry.label, entry.mark)


def nested_json_text(taxonomy: Taxonomy) -> str:
    """Nested JSON: objects with name, id and children, and the class index of each leaf; a graph as flat JSON.

    Raises:
        TaxonomyError: if the tree is too deep to be read back.
    """
    if not taxonomy.is_tree:
        return flat_json_text(taxonomy)
    if taxonomy.height > MOST_LEVELS:
        raise TaxonomyError(
            f"the tree has {taxonomy.height} levels and nested JSON holds {MOST_LEVELS}; json-flat holds any number"
        )
    return json.dumps(nested_objects(taxonomy), ensure_ascii=False, indent=1) + "\n"


def nested_objects(taxonomy: Taxonomy) -> list[dict[str, Any]]:
    """Nodes of level 1 as nested objects with name, id, and children or class."""
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
