"""Readers that come with the package; of two that take a source, the later one here is used."""

import sys
from pathlib import Path
from typing import ClassVar

from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES
from hiercos.data.inputs import Kind
from hiercos.data.readers import hugging_face
from hiercos.data.readers.folders import read_folder
from hiercos.data.readers.npz import read_vectors
from hiercos.data.readers.registry import READERS, InputOptions, Reader
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

STANDARD_INPUT = "-"

__all__ = ["READERS", "STANDARD_INPUT"]  # importing the registry from here registers these readers


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
            return texts_of_table(Path(source), options.text_column or TEXT_COLUMN, options.on_error)
        listed = images_of_table(Path(source), options.path_column or PATH_COLUMN, options.root)
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
