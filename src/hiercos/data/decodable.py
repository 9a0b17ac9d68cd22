"""Which images were once decoded to the last pixel, by their content, so that no command decodes them all again.

A file in the cache holds nothing but digests of 32 bytes, one file for each version of Pillow. It may be deleted at
any time, and where it cannot be written every image is decoded each time.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hiercos.files import write_atomically

CACHE_VARIABLE = "HIERCOS_CACHE"
RULES = 1  # of decoding; another number when what counts as decodable changes
DIGEST = 32  # bytes


def decodable_file() -> Path:
    """The file for this version of Pillow: in the folder HIERCOS_CACHE, else in `~/.cache/hiercos`."""
    from PIL import __version__

    named = os.environ.get(CACHE_VARIABLE)
    folder = Path(named) if named else Path.home() / ".cache" / "hiercos"
    return folder / f"decodable-{RULES}-pillow-{__version__}"


def read_decodable(file: Path) -> set[bytes]:
    """The digests in the file; none where there is no such file, or one that something else has written."""
    content = file.read_bytes() if file.is_file() else b""
    if len(content) % DIGEST:
        return set()
    return {content[start : start + DIGEST] for start in range(0, len(content), DIGEST)}


def add_decodable(file: Path, digests: Iterable[bytes]) -> None:
    """Add digests to the file, if it can be written."""
    with suppress(OSError):  # a home that is read-only or full costs time, not the result
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, b"".join(sorted({*read_decodable(file), *digests})))
