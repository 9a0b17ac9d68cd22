"""Flat JSON: the arrays of a taxonomy as they are, for trees of any depth and for model folders."""

import json
from collections.abc import Iterator, Mapping
from reprlib import repr as shortened
from typing import Any, TypeGuard

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.tree import Taxonomy

FORMAT = "hiercos-taxonomy"
VERSION = 1


def taxonomy_to_dict(taxonomy: Taxonomy) -> dict[str, Any]:
    """The whole value as plain lists; `taxonomy_from_dict` gives an equal taxonomy."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "names": list(taxonomy.names),
        "parents": taxonomy.parents.tolist(),
        "leaves": taxonomy.leaves.tolist(),
        "ids": list(taxonomy.ids),
    }


def taxonomy_from_dict(value: object) -> Taxonomy:
    """The taxonomy of such a dict; its nodes may be numbered in any way.

    Raises:
        TaxonomyError: naming every key that is missing or holds something else, and every fault of the tree.
    """
    if not is_flat(value):
        raise TaxonomyError(f'expected an object with "format": "{FORMAT}"')
    if value.get("version") != VERSION:
        raise TaxonomyError(f"expected version {VERSION}, got {value.get('version')!r}")
    if faults := list(_list_faults(value)):
        raise TaxonomyError(faults)
    return Taxonomy.from_arrays(value["names"], value["parents"], value["leaves"], ids=value.get("ids", ()))


def is_flat(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether this is the flat form, of any version."""
    return isinstance(value, Mapping) and value.get("format") == FORMAT


def _list_faults(value: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in (("names", str), ("parents", int), ("leaves", int), ("ids", str)):
        items = value.get(key, [] if key == "ids" else None)
        if not isinstance(items, list):
            yield f"{key}: expected a list, got {shortened(items)}"
            continue
        for place, item in enumerate(items):
            if type(item) is not kind or (isinstance(item, int) and item.bit_length() > 63):
                yield f"{key}[{place}]: expected {'text' if kind is str else 'a whole number'}, got {shortened(item)}"


def flat_json_text(taxonomy: Taxonomy) -> str:
    """The flat form as JSON."""
    return json.dumps(taxonomy_to_dict(taxonomy), ensure_ascii=False) + "\n"
