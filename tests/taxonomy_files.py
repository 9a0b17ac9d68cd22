"""Read a text as a file, and the faults of one."""

from pathlib import Path

import pytest

from hiercos import Taxonomy, TaxonomyError


def read_text(folder: Path, name: str, text: str, *, format: str | None = None) -> Taxonomy:
    (folder / name).write_bytes(text.encode())
    return Taxonomy.read(folder / name, format=format)


def faults_of(folder: Path, name: str, text: str, *, format: str | None = None) -> list[str]:
    """The faults without the file's name, which each must begin with."""
    with pytest.raises(TaxonomyError) as error:
        read_text(folder, name, text, format=format)
    prefix = f"{folder / name}: "
    assert all(fault.startswith(prefix) for fault in error.value.faults)
    return [fault.removeprefix(prefix) for fault in error.value.faults]
