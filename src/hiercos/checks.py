"""Checks of values, against type annotations or limits, and of JSON objects. Open to every package.

Limits on what a file may ask for keep a small file from using up the memory. The environment variable
HIERCOS_NO_LIMITS, set to anything, lifts all of them.
"""

import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from hiercos.errors import FaultsError, suggestion

ARRAY_BYTES = 1 << 30  # of all arrays in an .npz file (up to 16 times its size are allowed), and of an image's file
PIXELS = 89_478_485  # of an image
TEXT_CHARACTERS = 1_000_000  # of a text or of any other cell of a table
NODES = 10_000_000  # of a taxonomy in a file
EXPANSION = 16  # bytes of arrays for each byte of a compressed file
VARIABLE = "HIERCOS_NO_LIMITS"

NAMES = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "a text",
    dict: "an object",
    list: "a list",
    NoneType: "none",
}
OBJECTS: dict[Any, type] = {Mapping: dict, list: list}  # in JSON, for annotations that say of what they are
MOST_LEVELS = 64  # nested objects and lists in a configuration, or record


def fits(value: object, kind: Any) -> bool:
    """Whether a value fits a type annotation; an integer is a number too, but True and False are neither.

    Args:
        kind: annotation: int, float, bool, str, None, dict, list, a Mapping, a Literal, a Sequence of one of these, or
            a union of them.

    Example:
        >>> fits(3, float | None), fits("3", float | None), fits(True, int), fits([1, 2], Sequence[int])
        (True, False, False, True)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(fits(item, parts[0]) for item in value)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool) and _is_finite(value)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, OBJECTS.get(origin, kind))


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def description(kind: Any) -> str:
    """Name of an annotated type in messages.

    Example:
        >>> description(int | None), description(Literal["leaf", "root"]), description(Sequence[int])
        ('an integer or none', "one of 'leaf', 'root'", 'a list with an integer in each place')
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(description(part) for part in parts)
    if origin is Literal:
        return f"one of {', '.join(map(repr, parts))}"
    if origin is Sequence:
        return f"a list with {description(parts[0])} in each place"
    return NAMES[OBJECTS.get(origin, kind)]


def kind_fault(name: str, value: object, kind: Any) -> str | None:
    """The fault of a value that does not fit an annotation; None if it fits.

    Example:
        >>> kind_fault("epochs", 2.5, int | None)
        'epochs: expected an integer or none, got 2.5'
    """
    return None if fits(value, kind) else f"{name}: expected {description(kind)}, got {value!r}"


def option_faults(
    owner: str, options: Mapping[str, object], kinds: Mapping[str, Any], known: Collection[str]
) -> list[str]:
    """Faults of unknown options and of values of a wrong type.

    Args:
        owner: name of the object that has the options, for messages, such as "method 'hxe'".
        options: option values by name.
        kinds: type annotations by option name, at least those of the known options.

    Example:
        >>> option_faults("method 'hxe'", {"alhpa": 1, "alpha": "1"}, {"alpha": float}, ["alpha"])[0]
        "method 'hxe' has no option 'alhpa'; did you mean 'alpha'?"
    """
    unknown = [f"{owner} has no option {name!r}{suggestion(name, known)}" for name in options if name not in known]
    checked = [
        kind_fault(f"{owner}: option {name}", value, kinds[name]) for name, value in options.items() if name in known
    ]
    return [*unknown, *(fault for fault in checked if fault)]


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise a `FaultsError`, which is a ValueError, unless the value is one of the choices."""
    if value not in choices:
        raise FaultsError(f"expected {name} to be one of {', '.join(choices)}, got {value!r}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise a `FaultsError`, which is a ValueError, unless the value is an integer of at least `least`."""
    if not fits(value, int) or int(value) < least:  # type: ignore[call-overload]
        raise FaultsError(f"expected {name} of at least {least}, got {value!r}")


def json_object(
    path: Path | str, content: bytes | str, error: type[FaultsError], *, finite: bool = True
) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        finite: whether NaN and infinities, which Python writes, are refused.
    """
    try:
        constant, number = (_refuse_constant, _finite_float) if finite else (None, None)
        value = json.loads(content, parse_constant=constant, parse_float=number)
    except (ValueError, RecursionError) as fault:
        reason = "nested too deeply" if isinstance(fault, RecursionError) else str(fault)
        raise error(f"{path}: not JSON ({reason})") from fault
    if not isinstance(value, dict):
        raise error(f"{path}: expected an object, got {type(value).__name__}")
    if levels(value) > MOST_LEVELS:
        raise error(f"{path}: expected at most {MOST_LEVELS} nested levels, got {levels(value)}")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"expected finite numbers, got {name}")


def _finite_float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_constant(text)  # such as 1e999


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
        schema: annotation of each key, as `hiercos.checks.fits` takes it, or dict, list, or a union with them; a key
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


LEAST, MOST = 1e-30, 1e30  # a float32 divided by a number between them does not overflow in float64


def positive_fault(name: str, value: float) -> list[str]:
    """The fault of a number that is not above 0, or so small or large that scores overflow, or an empty list."""
    if LEAST <= value <= MOST:
        return []
    wanted = f"from {LEAST:g} to {MOST:g}" if math.isfinite(value) and value > 0 else "above 0"
    return [f"{name}: expected a number {wanted}, got {value!r}"]


def limited(most: int) -> int:
    """A limit as it holds now; where limits are lifted, a number that nothing reaches."""
    return 1 << 48 if os.environ.get(VARIABLE) else most


def limit_fault(what: str, asked: int, most: int) -> str | None:
    """Sentence about a value above a limit, with the variable that lifts it; None if it is allowed.

    Example:
        >>> limit_fault("nodes", 10_000_001, NODES)
        'expected at most 10,000,000 nodes, got 10,000,001 (HIERCOS_NO_LIMITS=1 lifts all limits)'
    """
    if asked <= limited(most):
        return None
    return f"expected at most {most:,} {what}, got {asked:,} ({VARIABLE}=1 lifts all limits)"
