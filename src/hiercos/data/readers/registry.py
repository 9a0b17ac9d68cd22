"""Registry of readers, which give the samples or inputs of the sources that they take."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TextIO

from hiercos.data.images.faulty import CheckCallback
from hiercos.data.inputs import Kind
from hiercos.data.readers.unlabelled import UnlabelledInputs
from hiercos.data.samples import SourceOptions, SourceSamples
from hiercos.errors import DataError
from hiercos.registry import Registry


@dataclass(frozen=True)
class InputOptions:
    """Options for reading inputs without labels; see `read_inputs`."""

    text_column: str | None = None
    path_column: str | None = None
    root: str | Path | None = None
    on_error: str = "fail"
    callback: CheckCallback | None = None
    stdin: TextIO | None = None


class Reader(ABC):
    """Reader of one form of data.

    A subclass sets `suffixes` or `prefix`, or overrides `takes`, and gives labelled samples, inputs without labels, or
    both.

    Attributes:
        name: name in the registry.
        suffixes: file extensions in lower case.
        prefix: prefix of sources that are not files, such as "hf:".
        labelled: whether the reader gives labelled samples.
        kinds: kinds of inputs without labels that the reader gives.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    prefix: ClassVar[str] = ""
    labelled: ClassVar[bool] = True
    kinds: ClassVar[tuple[Kind, ...]] = ()

    def takes(self, source: str) -> bool:
        """Whether a source has the prefix, or is a file with one of the extensions."""
        path = Path(source)
        if self.prefix and source.startswith(self.prefix):
            return True
        return path.suffix.lower() in self.suffixes and path.exists() and not path.is_dir()

    def samples(self, source: str, options: SourceOptions) -> SourceSamples:  # noqa: ARG002  # for subclasses
        """Labelled samples of a source.

        Raises:
            DataError: with every fault by file, row and value.
        """
        raise DataError(f"{source}: the reader {self.name!r} gives no labelled data")

    def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:  # noqa: ARG002
        """Inputs without labels of a source, of one of the `kinds`.

        Raises:
            DataError: with every fault by file, row and value.
        """
        raise DataError(f"{source}: the reader {self.name!r} gives no {kind} without labels")


READERS: Registry[type[Reader]] = Registry("reader", DataError, entry_points="hiercos.readers")


def sample_reader(source: str) -> Reader | None:
    """The reader that takes a source of labelled data; of several, the one that was registered last."""
    return _last([reader() for reader in READERS.values() if reader.labelled], source)


def input_reader(source: str, kind: Kind) -> Reader | None:
    """The reader that takes a source of inputs without labels; of several, the one that was registered last."""
    return _last([reader() for reader in READERS.values() if kind in reader.kinds], source)


def _last(readers: Sequence[Reader], source: str) -> Reader | None:
    return next((reader for reader in reversed(readers) if reader.takes(source)), None)


def sample_suffixes() -> tuple[str, ...]:
    """Extensions of files that hold labelled data."""
    return tuple(suffix for reader in READERS.values() if reader.labelled for suffix in reader.suffixes)


def input_suffixes(kind: Kind) -> tuple[str, ...]:
    """Extensions of files that hold inputs of a kind."""
    return tuple(suffix for reader in READERS.values() if kind in reader.kinds for suffix in reader.suffixes)


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
