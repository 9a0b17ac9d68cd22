"""Checksums as they are published, `md5:…` or `sha1:…`: they tell whole files from damaged ones, and are no seal."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1 << 20  # bytes read at once


class Checksum:
    """A checksum that grows with the bytes it is given.

    Args:
        kind: "md5", "sha1" or another that hashlib knows.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._digest = hashlib.new(kind, usedforsecurity=False)

    def update(self, content: bytes) -> None:
        """Add some bytes."""
        self._digest.update(content)

    def __str__(self) -> str:
        return f"{self._kind}:{self._digest.hexdigest()}"


def checksum(source: bytes | Path, kind: str) -> str:
    """The checksum of some bytes or of a file, which is read in pieces.

    Example:
        >>> checksum(b"abc", "md5")
        'md5:900150983cd24fb0d6963f7d28e17f72'
    """
    result = Checksum(kind)
    for piece in _pieces(source) if isinstance(source, Path) else (source,):
        result.update(piece)
    return str(result)


def fits(source: bytes | Path, published: str) -> bool:
    """Whether some bytes or a file have a published checksum."""
    return checksum(source, published.partition(":")[0]) == published


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece
