"""Limits on what a file may ask for, so that a small file cannot use up the memory. Open to every package.

Each limit is an integer that the environment variable HIERCOS_MAX_ and its name in capitals overrides.
"""

import os

from hiercos.errors import FaultsError

LIMITS = {
    "array_bytes": 1 << 30,  # of all arrays in an .npz file; more are allowed up to 16 times the size of the file
    "members": 1000,  # of an archive
    "rows": 1_000_000,  # of a Parquet file; more are allowed up to one for each byte of the file
    "nodes": 10_000_000,  # of a taxonomy in a file
    "depth": 10_000,  # levels of a taxonomy in a file
    "pixels": 89_478_485,  # of an image
    "text_characters": 1_000_000,  # of a text or of any other cell of a table
    "file_bytes": 1 << 30,  # of an image, and of a taxonomy file
}
EXPANSION = 16  # bytes of arrays for each byte of a compressed file


class LimitError(FaultsError):
    """A limit that is not a whole number above 0."""


def limit(name: str) -> int:
    """Value of a limit: that of the environment, else the default in `LIMITS`.

    Example:
        >>> limit("members")
        1000
    """
    variable = limit_variable(name)
    given = os.environ.get(variable)
    if given is None:
        return LIMITS[name]
    if not (given.isascii() and given.isdecimal()) or len(given) > 18 or int(given) < 1:
        raise LimitError(f"{variable}: expected a whole number above 0, got {given!r}")
    return int(given)


def limit_variable(name: str) -> str:
    """Environment variable that overrides a limit."""
    return f"HIERCOS_MAX_{name.upper()}"


def limit_fault(name: str, asked: int, allowed: int | None = None) -> str | None:
    """Sentence about a value above a limit, with the variable that raises it; None if it is allowed.

    Args:
        name: name of the limit.
        asked: value in the file.
        allowed: largest allowed value, where it depends on more than the limit; the limit by default.

    Example:
        >>> limit_fault("members", 1001)
        'expected at most 1,000 members, got 1,001 (HIERCOS_MAX_MEMBERS raises the limit)'
    """
    most = limit(name) if allowed is None else allowed
    if asked <= most:
        return None
    words = name.replace("_", " ").replace("array bytes", "bytes of arrays")
    return f"expected at most {most:,} {words}, got {asked:,} ({limit_variable(name)} raises the limit)"
