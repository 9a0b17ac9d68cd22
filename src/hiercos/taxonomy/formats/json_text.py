"""JSON as a Python value, with what is wrong said by line and column."""

import json
from typing import Any

from hiercos.taxonomy.checks import repeated
from hiercos.taxonomy.errors import TaxonomyError


def parsed_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        TaxonomyError: for malformed JSON, nesting deeper than Python reads, and keys that stand twice in an object.
    """
    faults: list[str] = []

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = repeated(key for key, _ in pairs)
        faults.extend(f"key {key!r} stands {count} times in one object" for key, count in keys)
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
