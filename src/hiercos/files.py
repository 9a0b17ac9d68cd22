"""Writing files whole or not at all. Plain Python, open to every package."""

import errno
import os
import secrets
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file under a temporary name in its own folder, then rename it into place.

    A reader sees the old file or the new one, never a half of it, and nothing is left behind on failure.

    Args:
        path: the file to write or to replace; its folder must exist.
        data: the whole content; text is written as UTF-8 and its line ends stay as they are.

    Raises:
        OSError: if the folder is missing or cannot be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(target.parent))
    content = data.encode("utf-8") if isinstance(data, str) else data
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
