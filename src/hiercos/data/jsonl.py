"""Tables as JSON Lines: an object a line, whose keys are the columns."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hiercos.data.errors import DataError

JSONL = ".jsonl"
Object = tuple[int, dict[str, Any]]  # a line as people count, and what stands on it


def json_lines(path: Path) -> Iterator[Object]:
    """The objects of a file, read one at a time; blank lines are left out.

    Raises:
        DataError: while they are read, for a line that is no JSON object, text that is not UTF-8, or an empty file.
    """
    found = False
    with path.open("rb") as file:
        for line, content in enumerate(file, 1):
            text = _decoded(path, line, content)
            if text.strip():
                found = True
                yield line, _object(path, line, text)
    if not found:
        raise DataError(f"{path}: the file is empty; expected an object a line")


def _decoded(path: Path, line: int, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{content[error.start]:02x}"
        raise DataError(f"{path}: row {line}: {byte} is not UTF-8; expected the file in UTF-8") from error


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: row {line}: expected a JSON object ({error})") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: row {line}: expected a JSON object, got {type(value).__name__}")
    return value


def cell_text(value: object) -> str | None:
    """A value as text: integers in their shortest form, null as empty; None for anything else."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)
