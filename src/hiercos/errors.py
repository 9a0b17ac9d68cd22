"""Errors that list every fault of an input, and suggestions for misspelt names."""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

MOST_FAULTS = 20  # faults shown in one message; the rest are counted
MOST_NAMES = 20  # known names listed if none of them is similar


class FaultsError(ValueError):
    """An input that cannot be used, with every fault found (the message shows the first 20).

    Args:
        faults: sentences that each name a row and a value; a single string is one fault.

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
    """End of a message about an unknown name: the nearest known name, or a list of the known names.

    Example:
        >>> suggestion("alhpa", ["alpha", "beta"])
        "; did you mean 'alpha'?"
        >>> suggestion("zzz", ["alpha", "beta"])
        '; there are: alpha, beta'
    """
    if near := difflib.get_close_matches(str(name), known, n=1):
        return f"; did you mean {near[0]!r}?"
    return f"; there are: {listed(known, MOST_NAMES)}" if known else "; there are none"


def listed(names: Iterable[str], most: int, separator: str = ", ") -> str:
    """The first names as one text, with "…" at the end if there are more; further names are not computed.

    Args:
        names: names of any number, "" without any.

    Example:
        >>> listed(["cat", "dog", "car"], 2), listed(["cat", "dog"], 2)
        ('cat, dog, …', 'cat, dog')
    """
    shown = list(islice(names, most + 1))
    shown[most:] = ["…"] * (len(shown) > most)
    return separator.join(shown)


@contextmanager
def reading(what: str, error: "type[FaultsError]") -> Iterator[None]:
    """Turn anything that another library's parser raises into one error type, with the name of the file.

    Errors of this package and of the operating system, which name what they are about, pass.

    Args:
        what: begin of the message, such as "data.npz: array 'features' is damaged".
    """
    try:
        yield
    except FaultsError:
        raise
    except OSError as fault:
        if fault.errno is not None and fault.filename is not None:
            raise
        raise error(f"{what} ({one_line(fault)})") from fault
    except MemoryError as fault:
        raise error(f"{what} (it needs more memory than there is)") from fault
    except Exception as fault:  # a damaged file can make a parser raise anything
        raise error(f"{what} ({one_line(fault)})") from fault


def one_line(error: BaseException) -> str:
    """Message of an error on one line of at most 200 characters, without its full stop; its type if it has none."""
    return " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__


def visible(text: str) -> str:
    r"""A text for a terminal: control characters, and those that change the direction of text, are escaped.

    Example:
        >>> visible("a\x1b[31mb\u202ec")
        'a\\x1b[31mb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == " " else repr(sign)[1:-1] for sign in text)


class HiercosWarning(UserWarning):
    """Something that does not stop the work but that the user should know; the command prints it as one line."""


class DataError(FaultsError):
    """Data or labels that cannot be used; see `FaultsError`."""


class UnknownLabelError(DataError):
    """Labels of which at least one is not in the taxonomy; see `FaultsError`."""


RowName = Callable[[int], str]  # from the index of a sample to its name in messages


def row_name(row: int) -> str:
    """Default name of a sample in messages: "row 1" for index 0."""
    return f"row {row + 1}"
