"""Registry of readers, which give the samples or inputs of a source, and the readers of the package."""

import sys
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TextIO

from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES, CheckCallback
from hiercos.data.inputs import Kind
from hiercos.data.readers import hugging_face
from hiercos.data.readers.folders import read_folder
from hiercos.data.readers.npz import read_vectors
from hiercos.data.readers.table import read_table_samples
from hiercos.data.readers.table_files import SAMPLE_TABLES
from hiercos.data.readers.unlabelled import (
    ListedImages,
    UnlabelledInputs,
    images_below,
    images_of_lines,
    images_of_table,
    numbered_lines,
    texts_of_lines,
    texts_of_table,
    usable_images,
    vectors_of_npz,
)
from hiercos.data.samples import PATH_COLUMN, TEXT_COLUMN, SourceOptions, SourceSamples
from hiercos.errors import DataError
from hiercos.registry import Registry

STANDARD_INPUT = "-"

__all__ = ["READERS", "STANDARD_INPUT"]  # importing the registry from here registers these readers


@dataclass(frozen=True)
class InputOptions:
    """Options for reading inputs without labels; see `read_inputs`."""

    text_column: str | None = None
    path_column: str | None = None
    root: str | Path | None = None
    on_error: str = "fail"
    callback: CheckCallback | None = None
    stdin: TextIO | None = None
    keep_columns: Sequence[str] = ()


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


@READERS.register("image")
class ImageReader(Reader):
    """A single image, for prediction."""

    suffixes = SUFFIXES
    labelled = False
    kinds: ClassVar[tuple[Kind, ...]] = ("images",)

    def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:  # noqa: ARG002
        """The image as a list of one."""
        return usable_images(ListedImages(ImageFiles([source]), (1,), source), options.on_error, options.callback)


@READERS.register("folder")
class FolderReader(Reader):
    """A folder of images, labelled by its subfolders."""

    kinds: ClassVar[tuple[Kind, ...]] = ("images",)

    def takes(self, source: str) -> bool:
        """Any folder."""
        return Path(source).is_dir()

    def samples(self, source: str, options: SourceOptions) -> SourceSamples:
        """Images labelled by the path of the folders they are in."""
        return read_folder(Path(source), options)

    def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:  # noqa: ARG002
        """Every image below the folder, sorted by path."""
        return usable_images(images_below(Path(source)), options.on_error, options.callback)


@READERS.register("hugging-face")
class HubReader(Reader):
    """A data set of the Hugging Face Hub, by its name."""

    prefix = hugging_face.PREFIX

    def samples(self, source: str, options: SourceOptions) -> SourceSamples:
        """Samples of all splits."""
        return hugging_face.read_hub(source, options)


@READERS.register("hugging-face-folder")
class SavedReader(Reader):
    """A folder that `save_to_disk` of Hugging Face wrote."""

    def takes(self, source: str) -> bool:
        """A folder with the files that `save_to_disk` writes."""
        return hugging_face.is_saved(Path(source))

    def samples(self, source: str, options: SourceOptions) -> SourceSamples:
        """Samples of all splits."""
        return hugging_face.read_saved(Path(source), options)


@READERS.register("npz")
class NpzReader(Reader):
    """Vectors in an .npz file."""

    suffixes = (".npz",)
    kinds: ClassVar[tuple[Kind, ...]] = ("vectors",)

    def samples(self, source: str, options: SourceOptions) -> SourceSamples:  # noqa: ARG002
        """Vectors with labels, and with splits, a taxonomy and an origin if the file has them."""
        return read_vectors(Path(source))

    def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:  # noqa: ARG002
        """Vectors, streamed from the archive."""
        return vectors_of_npz(Path(source))


@READERS.register("table")
class TableReader(Reader):
    """Texts, or paths to images, in a column of a table."""

    suffixes = SAMPLE_TABLES
    kinds: ClassVar[tuple[Kind, ...]] = ("texts", "images")

    def samples(self, source: str, options: SourceOptions) -> SourceSamples:
        """Rows with labels and, if the table has them, splits."""
        return read_table_samples(Path(source), options)

    def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:
        """Texts streamed row by row, or the images that a column lists."""
        if kind == "texts":
            column = options.text_column or TEXT_COLUMN
            return texts_of_table(Path(source), column, options.on_error, options.keep_columns)
        column = options.path_column or PATH_COLUMN
        listed = images_of_table(Path(source), column, options.root, options.keep_columns)
        return usable_images(listed, options.on_error, options.callback)


@READERS.register("standard-input")
class LineReader(Reader):
    """Texts, or paths to images, on the lines of standard input."""

    labelled = False
    kinds: ClassVar[tuple[Kind, ...]] = ("texts", "images")

    def takes(self, source: str) -> bool:
        """The source "-"."""
        return source == STANDARD_INPUT

    def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:  # noqa: ARG002
        """Texts streamed line by line, or the images at these paths."""
        stream = options.stdin or sys.stdin
        if kind == "texts":
            return texts_of_lines(stream)
        return usable_images(
            images_of_lines(numbered_lines(stream), root=options.root), options.on_error, options.callback
        )
