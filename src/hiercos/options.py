"""The values of options, checked against what a builder is annotated with. Plain Python, open to every package."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from hiercos.errors import FaultsError

NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "a text", NoneType: "none"}


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated kind; an integer is a number too, true and false are neither.

    Args:
        value: anything.
        kind: int, float, bool, str, None, a Literal, a Sequence of one of these, or a union of them.

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
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, kind)


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise a `FaultsError`, which is a ValueError, unless the value is an integer of at least so much."""
    if not fits(value, int) or int(value) < least:  # type: ignore[call-overload]
        raise FaultsError(f"expected {name} of at least {least}, got {value!r}")


def description(kind: Any) -> str:
    """What messages call a kind.

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
    return NAMES[kind]
