"""Errors that say everything that is wrong with somebody's input at once, and what was probably meant."""

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence

MOST_FAULTS = 20  # shown in one message; the rest are counted
MOST_NAMES = 20  # listed where none of them is near


class FaultsError(ValueError):
    """An input that cannot be used, with every fault found (the message shows the first 20).

    Args:
        faults: one sentence each, naming the row and the value; a single string is one fault.

    Example:
        >>> print(FaultsError(["row 2: the text is empty", "row 7: the text is empty"]))
        row 2: the text is empty
        row 7: the text is empty
    """

    faults: tuple[str, ...]

    def __init__(self, faults: str | Iterable[str]) -> None:
        self.faults = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__(_message(self.faults))


def _message(faults: Sequence[str]) -> str:
    shown = list(faults[:MOST_FAULTS])
    if len(faults) > MOST_FAULTS:
        shown.append(f"and {len(faults) - MOST_FAULTS} more faults")
    return "\n".join(shown)


def suggestion(name: str, known: Collection[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or else what there is.

    Example:
        >>> suggestion("alhpa", ["alpha", "beta"])
        "; did you mean 'alpha'?"
        >>> suggestion("zzz", ["alpha", "beta"])
        '; there are: alpha, beta'
    """
    if near := difflib.get_close_matches(name, known, n=1):
        return f"; did you mean {near[0]!r}?"
    listed = [*list(known)[:MOST_NAMES], *["…"] * (len(known) > MOST_NAMES)]
    return f"; there are: {', '.join(listed)}" if listed else "; there are none"


class DataError(FaultsError):
    """Data or labels that cannot be used; see `FaultsError`."""


RowName = Callable[[int], str]


def row_name(row: int) -> str:
    """What messages call a sample where nothing better is known: "row 1" for the first."""
    return f"row {row + 1}"
