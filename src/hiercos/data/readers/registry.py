"""Table of readers, which give the rows of a source, and their base class."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from hiercos.data.inputs import Kind
from hiercos.data.rows import Source, SourceOptions
from hiercos.errors import DataError
from hiercos.registry import Registry

STANDARD_INPUT = "-"


class Reader:
    """Reader of one form of data.

    A subclass sets `suffixes` or `prefix`, or overrides `takes`, and gives the rows.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()  # file extensions in lower case
    prefix: ClassVar[str] = ""  # prefix of sources that are not files, such as "hf:"
    labelled: ClassVar[bool] = True  # whether the reader gives labelled rows
    kinds: ClassVar[tuple[Kind, ...]] = ()  # kinds of inputs without labels that the reader gives

    def takes(self, source: str) -> bool:
        """Whether a source has the prefix, or is a file with one of the extensions."""
        path = Path(source)
        if self.prefix and source.startswith(self.prefix):
            return True
        return path.suffix.lower() in self.suffixes and path.exists() and not path.is_dir()

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:
        """Rows of a source that the reader takes.

        Args:
            source: path or name.
            options: columns and folders; the rows have labels if `options.is_labelled`.
            kind: kind of inputs that a model takes; None for whichever the source has.

        Raises:
            DataError: for a fault by file, row and value; faults of inputs, labels and splits are found later.
        """
        raise NotImplementedError


READERS: Registry[type[Reader]] = Registry(
    "reader",
    DataError,
    entry_points="hiercos.readers",
    rows={
        "image": "hiercos.data.readers.folders:ImageReader",
        "folder": "hiercos.data.readers.folders:FolderReader",
        "hugging-face": "hiercos.data.readers.hugging_face:HubReader",
        "hugging-face-folder": "hiercos.data.readers.hugging_face:SavedReader",
        "npz": "hiercos.data.readers.npz:NpzReader",
        "table": "hiercos.data.readers.table:TableReader",
        "standard-input": "hiercos.data.readers.lines:LineReader",
    },
)
"""Readers by name; of several that take a source, the last one reads it."""


def readers(kind: Kind | None = None) -> list[Reader]:
    """The readers of labelled data, or of inputs of a kind without labels."""
    found = READERS.values()
    return [reader() for reader in found if (reader.labelled if kind is None else kind in reader.kinds)]


def reader_of(source: str, kind: Kind | None = None) -> Reader | None:
    """The reader that takes a source, see `readers`; of several, the last one."""
    return next((reader for reader in reversed(readers(kind)) if reader.takes(source)), None)


def known_suffixes(kind: Kind | None = None) -> tuple[str, ...]:
    """Extensions of the files that these readers take."""
    return tuple(suffix for reader in readers(kind) for suffix in reader.suffixes)


def prefix_of(source: str) -> str:
    """Registered prefix of a source; "" for none."""
    return next((reader.prefix for reader in READERS.values() if source.startswith(reader.prefix or "\0")), "")


def existing_suffix(path: Path, suffixes: Sequence[str], others: str) -> str:
    """Extension of an existing file; a DataError if the file is missing or has another extension than these."""
    expected = f"expected a file ({', '.join(suffixes)}){others}"
    if not path.exists():
        raise DataError(f"{path}: there is no such file; {expected}")
    if path.is_dir():
        raise DataError(f"{path} is a folder; {expected}")
    if path.suffix.lower() not in suffixes:
        raise DataError(f"{path}: the extension {path.suffix!r} is not known; {expected}")
    return path.suffix.lower()
