"""Rows of anybody's data: what they are before they are checked, and what messages call them."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

AnyArray = NDArray[Any]  # of whatever type the user saved
RowName = Callable[[int], str]


def row_name(row: int) -> str:
    """What messages call a sample where nothing better is known: "row 1" for the first."""
    return f"row {row + 1}"
