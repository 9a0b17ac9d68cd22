"""Taxonomies in JSON, of two forms that are told apart by their content.

Nested objects are for people: objects of objects, lists of names, or objects with name, id and children. Arrays, one
list for each property of the nodes, hold graphs and trees of any depth; model folders have them.
"""

import json
from collections.abc import Iterator, Mapping
from reprlib import repr as shortened
from typing import Any, NamedTuple

from hiercos.taxonomy.build import NodeTable
from hiercos.taxonomy.checks import TaxonomyError, check_limits, repeated
from hiercos.taxonomy.graph import NodeLists
from hiercos.taxonomy.tree import Taxonomy


def parsed_json(text: str) -> Any:
    """Parse a JSON text."""
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
        raise TaxonomyError(
            "nested deeper than JSON can be read; the form with lists of names and parents holds any depth"
        ) from error
    if faults:
        raise TaxonomyError(faults)
    return value


FORMAT = "hiercos-taxonomy"
VERSION = 1
ROOT = "root"
MOST_LEVELS = 200  # of nested objects: Python reads JSON nested about 1000 deep, and a level nests twice


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
    """Build the taxonomy of a dict in the form of `taxonomy_to_dict`; its nodes may have any numbering."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        raise TaxonomyError(f'expected an object with "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        raise TaxonomyError(f"expected version {VERSION}, got {value.get('version')!r}")
    if faults := list(_list_faults(value)):
        raise TaxonomyError(faults)
    parents = value["parents"]
    lists = NodeLists.of(parents) if parents and isinstance(parents[0], list) else parents
    taxonomy = Taxonomy.from_arrays(value["names"], lists, value["leaves"], ids=value.get("ids", ()))
    check_limits(taxonomy.num_nodes)
    return taxonomy.with_ranks(value.get("ranks", ()))


def _parent_lists(taxonomy: Taxonomy) -> list[list[int]]:
    return [taxonomy.parent_lists.list(node).tolist() for node in range(taxonomy.num_nodes)]


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


def taxonomy_from_json(text: str) -> Taxonomy:
    """Read a taxonomy from JSON text, nested objects or arrays."""
    value = parsed_json(text)
    has_arrays = isinstance(value, Mapping) and value.get("format") == FORMAT
    return taxonomy_from_dict(value) if has_arrays else taxonomy_from_nested(value)


class _Item(NamedTuple):
    """A node of the file, not yet checked."""

    name: str
    children: Any = None
    given_id: Any = ""
    label: Any = None  # class index


def taxonomy_from_nested(value: object) -> Taxonomy:
    """Build the taxonomy of nested objects and lists.

    A single object named `root` at the top is the root. The classes are in file order, or in the order of the class
    indices `class` if the leaves have them.
    """
    faults: list[str] = []
    nodes = NodeTable()
    pending = [(-1, item) for item in reversed(_top(value, faults))]
    while pending:
        parent, (name, children, given_id, label) = pending.pop()
        if not name.strip():
            faults.append(f"under {nodes.quoted_path(parent)}: a name is empty")
        if not isinstance(given_id, str):
            faults.append(f"{name!r} under {nodes.quoted_path(parent)}: expected a text id, got {given_id!r}")
        node = nodes.add([parent], name, given_id, label=label)
        if children is not None:
            below = list(_items(children, nodes.quoted_path(node), faults))
            pending += [(node, item) for item in reversed(below)]
    return nodes.tree(faults)


def _top(value: object, faults: list[str]) -> list[_Item]:
    """Nodes of level 1."""
    top = list(_items(value, "the top", faults))
    if isinstance(value, Mapping) and len(top) == 1 and top[0].name == ROOT and top[0].children:
        return list(_items(top[0].children, "the root", faults))
    return top


def _items(value: object, parent: str, faults: list[str]) -> Iterator[_Item]:
    """Nodes of an object or a list; `parent` names their parent in the faults of values that are no nodes."""
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        yield _Item(value["name"], value.get("children"), value.get("id", ""), value.get("class"))
    elif isinstance(value, Mapping):
        yield from (_Item(name, children) for name, children in value.items())
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                yield _Item(item)
            elif isinstance(item, Mapping):
                yield from _items(item, parent, faults)
            else:
                shown = "null" if item is None else shortened(item)
                faults.append(f"under {parent}: expected a name in quotes or an object, got {shown}")
    else:
        faults.append(f"under {parent}: expected an object, a list or null, got {shortened(value)}")


def json_text(taxonomy: Taxonomy) -> str:
    """JSON text that people can read: nested objects; arrays for a graph and for a tree of very many levels."""
    if taxonomy.is_tree and taxonomy.height <= MOST_LEVELS:
        return json.dumps(nested_objects(taxonomy), ensure_ascii=False, indent=1) + "\n"
    return json.dumps(taxonomy_to_dict(taxonomy), ensure_ascii=False) + "\n"


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
