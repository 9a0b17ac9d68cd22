"""Errors that say everything that is wrong with somebody's input at once."""

from collections.abc import Iterable, Sequence

MOST_FAULTS = 20  # shown in one message; the rest are counted


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
