"""JSON from files that anybody may have written: one error type, bounded depth, and a schema in type annotations."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiercos.errors import FaultsError
from hiercos.options import description, fits

MOST_LEVELS = 64  # nested objects and lists in a configuration, record or manifest


def json_object(
    path: Path | str, content: bytes | str, error: type[FaultsError], *, finite: bool = True
) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        path: name of the file in messages.
        content: text of the file, in UTF-8.
        error: type of the error that is raised.
        finite: whether NaN and infinities, which Python writes, are refused.

    Raises:
        FaultsError: of the given type, for another encoding, malformed JSON, another value than an object, a number
            that is not finite, or more than `MOST_LEVELS` levels.
    """
    value = json_value(path, content, error, finite=finite)
    if not isinstance(value, dict):
        raise error(f"{path}: expected an object, got {type(value).__name__}")
    return value


def json_value(path: Path | str, content: bytes | str, error: type[FaultsError], *, finite: bool = True) -> Any:
    """Parse JSON of any kind; for the arguments and errors see `json_object`."""
    try:
        value = json.loads(content, parse_constant=_refuse_constant if finite else None)
    except (ValueError, RecursionError) as fault:
        reason = "nested too deeply" if isinstance(fault, RecursionError) else str(fault)
        raise error(f"{path}: not JSON ({reason})") from fault
    if levels(value) > MOST_LEVELS:
        raise error(f"{path}: expected at most {MOST_LEVELS} nested levels, got {levels(value)}")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"expected finite numbers, got {name}")


def levels(value: object) -> int:
    """Number of nested objects and lists; 0 for a plain value.

    Example:
        >>> levels(1), levels([]), levels({"a": [{"b": 1}]})
        (0, 1, 3)
    """
    deepest, pending = 0, [(value, 0)]
    while pending:
        found, depth = pending.pop()
        deepest = max(deepest, depth)
        if isinstance(found, dict | list):
            inside = found.values() if isinstance(found, dict) else found
            deepest = max(deepest, depth + 1)
            pending += [(each, depth + 1) for each in inside if isinstance(each, dict | list)]
    return deepest


def schema_faults(values: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Faults of the values of an object: a missing key, a wrong type, or a number that is not finite.

    Args:
        values: parsed object.
        schema: annotation of each key, as `hiercos.options.fits` takes it, or dict, list, or a union with them; a key
            whose annotation allows None may be missing.

    Example:
        >>> schema_faults({"seed": "3"}, {"seed": int, "note": str | None})
        ["seed: expected an integer, got '3'"]
    """
    return [
        f"{key}: expected {description(kind)}, got {_shown(values.get(key))}"
        for key, kind in schema.items()
        if not fits(values.get(key), kind)
    ]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def positive_fault(name: str, value: float) -> list[str]:
    """The fault of a number that is not finite or not above 0, or an empty list."""
    return [] if math.isfinite(value) and value > 0 else [f"{name}: expected a number above 0, got {value!r}"]
