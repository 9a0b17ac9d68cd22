"""Inputs without labels, for prediction."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from hiercos.data.dataset import Inputs, Kind, check_inputs, taken
from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES
from hiercos.data.images.faulty import CheckCallback, usable_rows
from hiercos.data.readers.folders import image_tree, other_files
from hiercos.data.readers.npz import feature_matrix, read_npz
from hiercos.data.readers.table import read_table
from hiercos.data.readers.table_files import SAMPLE_TABLES
from hiercos.data.readers.table_samples import listed_images
from hiercos.data.samples import PATH_COLUMN, TEXT_COLUMN
from hiercos.data.sources import existing_suffix
from hiercos.errors import DataError, RowName

FILES = {"vectors": (".npz",), "texts": SAMPLE_TABLES, "images": (*SUFFIXES, *SAMPLE_TABLES)}
TABLE = f"a table ({', '.join(SAMPLE_TABLES)})"
EXPECTED = {
    "vectors": "an .npz of vectors",
    "texts": f"{TABLE} of texts",
    "images": f"an image, a folder of images or {TABLE} of their paths",
}


@dataclass(frozen=True)
class InputBatch:
    """Some inputs in a row.

    Attributes:
        numbers: the number of each input as people count, B of them: the line of a text file, else from 1.
        inputs: vectors, shape (B, F), or B texts or images.
    """

    numbers: tuple[int, ...]
    inputs: Inputs


@dataclass(frozen=True)
class UnlabelledInputs:
    """What to predict.

    Attributes:
        rows: the number of each input as people count, M of them: the line of a text file, else from 1.
        inputs: vectors, shape (M, F), or M texts or images.
        notes: sentences about what was left out, for the user to see.
    """

    rows: tuple[int, ...]
    inputs: Inputs
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int | None:
        """How many there are."""
        return len(self.rows)

    def batches(self, size: int) -> Iterator[InputBatch]:
        """The inputs in their order, so many at a time."""
        for start in range(0, len(self.rows), size):
            rows = np.arange(start, min(start + size, len(self.rows)))
            yield InputBatch(self.rows[start : start + size], taken(self.inputs, rows))


def read_inputs(
    path: str | Path,
    *,
    kind: Kind,
    text_column: str | None = None,
    path_column: str | None = None,
    root: str | Path | None = None,
    on_error: str = "fail",
    callback: CheckCallback | None = None,
    stdin: TextIO | None = None,
) -> UnlabelledInputs:
    """Read vectors from an .npz file, texts from a table, or images from a folder, a file or a table of paths.

    Args:
        path: the file or folder, or "-" for standard input, where every line is a text or the path of an image. Of a
            folder every image below it is taken, in the order of the paths.
        kind: what the model takes.
        text_column: the column of texts in a table, "text" by default.
        path_column: the column of paths to images in a table, "path" by default.
        root: the folder that paths start from; by default that of the table, for standard input the current one.
        on_error: "fail" to refuse images that cannot be decoded, "skip" to leave them out.
        callback: as in `load_dataset`.
        stdin: read for "-"; standard input by default.

    Raises:
        DataError: for another kind of file, an empty text, a number that is not finite, or faulty images.
    """
    file, is_stream = Path(path), str(path) == "-"
    if is_stream and kind == "vectors":
        raise DataError("this model takes vectors: expected an .npz file, got texts on standard input")
    if not is_stream and not (kind == "images" and file.is_dir()):
        _check_kind(file, kind)
    numbers, lines = _lines(stdin or sys.stdin) if is_stream else ((), ())
    if kind == "images" and is_stream:
        return _usable(images_of_lines(numbers, lines, root=root), on_error, callback)
    if kind == "images":
        return _usable(images_at(file, path_column=path_column or PATH_COLUMN, root=root), on_error, callback)
    if is_stream:
        return UnlabelledInputs(numbers, lines)
    return _vectors(file) if kind == "vectors" else _texts(file, text_column or TEXT_COLUMN)


def _check_kind(file: Path, kind: Kind) -> None:
    """Raise a DataError unless the file is there and may hold inputs of this kind."""
    if file.is_file() and file.suffix.lower() not in FILES[kind]:
        raise DataError(f"expected {EXPECTED[kind]} because this model takes {kind}, got {file}")
    existing_suffix(file, FILES[kind], f"{' or a folder' * (kind == 'images')} because this model takes {kind}")


def _lines(stream: TextIO) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of the lines that are not blank, and what stands on them."""
    try:
        numbered = [(number, line.rstrip("\r\n")) for number, line in enumerate(stream, 1) if line.strip()]
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: expected text in UTF-8 ({error.reason})") from error
    if not numbered:
        raise DataError("standard input: expected at least one line of text, got none")
    numbers, lines = zip(*numbered, strict=True)
    return numbers, lines


def _usable(listed: "ListedImages", on_error: str, callback: CheckCallback | None) -> UnlabelledInputs:
    """The images that can be decoded, with their numbers in the whole list and a note about the others."""
    rows, notes = usable_rows(
        listed.images, source=listed.source, on_error=on_error, row_name=listed.row_name, callback=callback
    )
    numbers = tuple(listed.numbers[row] for row in rows)
    return UnlabelledInputs(numbers, listed.images.take(rows), (*listed.notes, *notes))


def _texts(path: Path, text_column: str) -> UnlabelledInputs:
    table = read_table(path, columns=(text_column,))
    texts = table.columns[text_column]
    check_inputs(texts, source=str(path), row_name=table.row_name)
    return UnlabelledInputs(table.numbers, texts)


def _vectors(path: Path) -> UnlabelledInputs:
    features = feature_matrix(path, read_npz(path, arrays=("features",))["features"])
    check_inputs(features, source=str(path))
    return UnlabelledInputs(tuple(range(1, len(features) + 1)), features)


@dataclass(frozen=True)
class ListedImages:
    """Images as somebody listed them, not yet decoded.

    Attributes:
        images: M of them.
        numbers: of each as people count: the line of a text file, else from 1.
        source: what messages call them together.
        row_name: what messages call the row of each, where a table or standard input lists them.
        notes: sentences about what was left out.
    """

    images: ImageFiles
    numbers: tuple[int, ...]
    source: str
    row_name: RowName | None = None
    notes: tuple[str, ...] = ()


def images_at(path: Path, *, path_column: str, root: str | Path | None) -> ListedImages:
    """Every image below a folder in the order of the paths, the image in a file, or the images a table lists."""
    if path.is_dir():
        tree = image_tree(path)
        images = ImageFiles([path / image for image in tree.images])
        return ListedImages(images, _counted(images), str(path), notes=other_files(path, tree))
    if path.suffix.lower() in SUFFIXES:
        return ListedImages(ImageFiles([path]), (1,), str(path))
    table = read_table(path, columns=(path_column,))
    images = listed_images(table.columns[path_column], path, root, table.row_name)
    return ListedImages(images, table.numbers, str(path), table.row_name)


def images_of_lines(numbers: tuple[int, ...], paths: Sequence[str], *, root: str | Path | None) -> ListedImages:
    """The images whose paths stand on the lines of standard input; they start from the root, if one is given."""
    images = ImageFiles([Path(root or ".") / path for path in paths])
    return ListedImages(images, numbers, "standard input", lambda row: f"row {numbers[row]}")


def _counted(images: ImageFiles) -> tuple[int, ...]:
    return tuple(range(1, len(images) + 1))
