"""JSON parsing with faults by line and column, and the flat JSON form of a taxonomy."""

import json
from collections.abc import Iterator, Mapping
from reprlib import repr as shortened
from typing import Any, TypeGuard

from hiercos.taxonomy.checks import TaxonomyError, repeated
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
        "parents": taxonomy.parents.tolist(),
        "leaves": taxonomy.leaves.tolist(),
        "ids": list(taxonomy.ids),
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
    return Taxonomy.from_arrays(value["names"], value["parents"], value["leaves"], ids=value.get("ids", ()))


def is_flat(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a parsed value is the flat form, of any version."""
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
    """The flat form of a taxonomy as JSON text."""
    return json.dumps(taxonomy_to_dict(taxonomy), ensure_ascii=False) + "\n"
