"""Inputs without labels, for prediction: streamed in batches, in memory that does not grow with the number of rows."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from hiercos.data.images.collections import ImageFiles, Images, file_content
from hiercos.data.images.decoding import CheckCallback, check_on_error, pillow, upright_rgb, usable_rows
from hiercos.data.inputs import Inputs, Kind, Rows, Texts, Vectors, check_inputs, text_fault, vector_faults
from hiercos.data.readers.folders import image_tree, other_files
from hiercos.data.readers.npz import FeatureStream
from hiercos.data.readers.table import (
    TableRow,
    input_option,
    listed_images,
    no_rows,
    read_table,
    skipped_texts,
    table_rows,
    with_skip_hint,
)
from hiercos.data.readers.table_files import column_names
from hiercos.errors import DataError, HiercosWarning, RowName, listed
from hiercos.limits import limit, limit_fault
from hiercos.options import check_count

if TYPE_CHECKING:
    from PIL.Image import Image

CHECKED_AT_ONCE = 1024  # vectors checked at a time
MOST_NAMED = 5  # blank lines of standard input that a warning names
ALL_COLUMNS = "all"  # stands for all columns of an input table

NumberedText = tuple[int, str]


@dataclass(frozen=True)
class InputBatch:
    """A batch of inputs without labels.

    Attributes:
        numbers: row number of each input, B numbers: the line in a text file, else counted from 1.
        inputs: B texts, vectors or images.
        kept: cells of the columns of the input table that are copied to the answers, B texts each, by column name.
    """

    numbers: Sequence[int]
    inputs: Inputs
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class UnlabelledInputs:
    """Inputs for prediction, streamed in batches.

    Attributes:
        kind: "texts", "vectors" or "images".
        count: number of inputs; None for standard input, where it is unknown.
        notes: sentences for the user about inputs that were left out.
        read: function from a batch size to the batches.
    """

    kind: Kind
    count: int | None
    read: Callable[[int], Iterator[InputBatch]]
    notes: tuple[str, ...] = ()

    def batches(self, size: int) -> Iterator[InputBatch]:
        """Batches of `size` inputs in order, the last one smaller; standard input gives them only once.

        Raises:
            ValueError: for a size below 1.
            DataError: for a fault that is found only while reading, as on standard input.
        """
        check_count("size", size)
        return self.read(size)

    def whole(self) -> InputBatch:
        """All inputs as one batch, in memory."""
        (batch,) = self.batches(sys.maxsize)
        return batch

    @classmethod
    def in_memory(
        cls,
        inputs: Inputs,
        numbers: Sequence[int] | None = None,
        notes: tuple[str, ...] = (),
        kept: Mapping[str, Sequence[str]] | None = None,
    ) -> "UnlabelledInputs":
        """`UnlabelledInputs` over inputs in memory.

        Args:
            inputs: M texts, vectors or images.
            numbers: row number of each input, M numbers; by default from 1.
            notes: sentences for the user.
            kept: cells to copy to the answers, M texts for each column; None for none.
        """
        shown = range(1, len(inputs) + 1) if numbers is None else numbers

        def read(size: int) -> Iterator[InputBatch]:
            for start in range(0, len(inputs), size):
                rows = range(start, min(start + size, len(inputs)))
                cells = {name: column[rows.start : rows.stop] for name, column in (kept or {}).items()}
                yield InputBatch(shown[rows.start : rows.stop], inputs.take(rows), cells)

        return cls(inputs.kind, len(inputs), read, notes)


def numbered_lines(stream: TextIO) -> Iterator[NumberedText]:
    """Lines that are not blank, with their numbers, as they are read; at the end a `HiercosWarning` counts the others.

    Raises:
        DataError: for text that is not UTF-8, or at the end if all lines are blank.
    """
    found, count = False, 0
    blank: list[str] = []  # the first numbers of blank lines
    most = limit("text_characters")
    try:
        for number, line in enumerate(iter(lambda: stream.readline(most + 2), ""), 1):
            if fault := limit_fault("text_characters", len(line.rstrip("\r\n"))):
                raise DataError(f"standard input: row {number}: {fault}")
            if line.strip():
                found = True
                yield number, line.rstrip("\r\n")
            else:
                count += 1
                blank += [str(number)] * (count <= MOST_NAMED + 1)
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: expected text in UTF-8 ({error.reason})") from error
    if not found:
        raise DataError("standard input: expected at least one line of text, got none")
    if blank:
        left_out = "1 blank line is left out, row" if count == 1 else f"{count:,} blank lines are left out, rows"
        warnings.warn(
            f"standard input: {left_out} {listed(blank, MOST_NAMED)}; the other rows keep their numbers",
            HiercosWarning,
            stacklevel=2,
        )


def texts_of_lines(stream: TextIO) -> UnlabelledInputs:
    """Texts of a stream, one per line; their number is unknown."""
    lines = numbered_lines(stream)

    def read(size: int) -> Iterator[InputBatch]:
        while batch := list(islice(lines, min(size, sys.maxsize))):
            yield InputBatch([number for number, _ in batch], Texts([text for _, text in batch]))

    return UnlabelledInputs("texts", None, read)


def kept_columns(path: Path, wanted: Sequence[str], input_column: str | None) -> list[str]:
    """Names of the columns of a table that are copied to the answers.

    Args:
        path: table.
        wanted: names of columns, or only "all" for all but the one of the texts.
        input_column: name of the column of texts; None if all columns are copied by "all".
    """
    if list(wanted) != [ALL_COLUMNS]:
        return list(dict.fromkeys(wanted))
    return [name for name in dict.fromkeys(column_names(path)) if name != input_column]


def texts_of_table(
    path: Path, column: str, on_error: str = "fail", keep_columns: Sequence[str] = ()
) -> UnlabelledInputs:
    """Texts of a table, checked in a first pass and read again for every pass over the batches.

    Args:
        path: table.
        column: name of the column of texts.
        on_error: "fail" to raise for empty or too long texts, "skip" to leave their rows out.
        keep_columns: columns that are copied to the answers; see `kept_columns`.
    """
    check_on_error(on_error)
    kept = kept_columns(path, keep_columns, column)
    count, faults = 0, []
    for number, cells in table_rows(path, columns=(column,), copied=kept, options=input_option(column, is_text=True)):
        count += 1
        if fault := text_fault(cells[column]):
            faults.append(f"row {number}: {fault}")
    if not count:
        raise DataError(no_rows(path))
    if faults and (on_error == "fail" or len(faults) == count):
        raise DataError(with_skip_hint([f"{path}: {fault}" for fault in faults], count - len(faults)))

    def read(size: int) -> Iterator[InputBatch]:
        rows = table_rows(path, columns=(column,), copied=kept, options=input_option(column, is_text=True))
        usable = (row for row in rows if not faults or not text_fault(row[1][column]))
        return _row_batches(usable, size, column, kept)

    return UnlabelledInputs("texts", count - len(faults), read, skipped_texts(path, faults, count))


def _row_batches(rows: Iterator[TableRow], size: int, column: str, kept: Sequence[str]) -> Iterator[InputBatch]:
    """Batches of texts of a stream of table rows, with the cells of the copied columns."""
    while batch := list(islice(rows, min(size, sys.maxsize))):
        texts = Texts([cells[column] for _, cells in batch])
        copied = {name: [cells[name] for _, cells in batch] for name in kept}
        yield InputBatch([number for number, _ in batch], texts, copied)


def vectors_of_npz(path: Path) -> UnlabelledInputs:
    """Vectors of an .npz file, checked in a first pass and read again for every pass over the batches."""
    stream = FeatureStream(path)
    if faults := vector_faults(stream.chunks(CHECKED_AT_ONCE)):
        raise DataError([f"{path}: {fault}" for fault in faults])

    def read(size: int) -> Iterator[InputBatch]:
        done = 0
        for part in stream.chunks(size):
            yield InputBatch(range(done + 1, done + len(part) + 1), Vectors(part))
            done += len(part)

    return UnlabelledInputs("vectors", stream.shape[0], read)


def usable_images(listed: "ListedImages", on_error: str, callback: CheckCallback | None) -> UnlabelledInputs:
    """Images that can be decoded, with their row numbers and a note about the others."""
    rows, notes = usable_rows(
        listed.images, source=listed.source, on_error=on_error, row_name=listed.row_name, callback=callback
    )
    numbers = [listed.numbers[row] for row in rows]
    kept = {name: [cells[row] for row in rows] for name, cells in listed.kept.items()}
    return UnlabelledInputs.in_memory(listed.images.take(rows), numbers, (*listed.notes, *notes), kept)


@dataclass(frozen=True)
class ListedImages:
    """Images that are not yet decoded.

    Attributes:
        images: M images.
        numbers: row number of each image: the line in a text file, else counted from 1.
        source: name of the folder, table or stream in messages.
        row_name: function from a row index to its name in messages; None for a folder or a single image.
        notes: sentences for the user about files that were left out.
        kept: cells to copy to the answers, M texts for each column.
    """

    images: ImageFiles
    numbers: Sequence[int]
    source: str
    row_name: RowName | None = None
    notes: tuple[str, ...] = ()
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)


def images_below(folder: Path) -> ListedImages:
    """Every image below a folder, sorted by path."""
    tree = image_tree(folder)
    images = ImageFiles([folder / image for image in tree.images])
    return ListedImages(images, range(1, len(images) + 1), str(folder), notes=other_files(folder, tree))


def images_of_table(path: Path, column: str, root: str | Path | None, keep_columns: Sequence[str] = ()) -> ListedImages:
    """Images that a table lists; paths are relative to the root, or else to the folder of the table."""
    kept = kept_columns(path, keep_columns, None)
    table = read_table(path, columns=(column,), copied=kept, options=input_option(column, is_text=False))
    images = listed_images(table.columns[column], path, root, table.row_name)
    cells = {name: table.columns[name] for name in kept}
    return ListedImages(images, table.numbers, str(path), table.row_name, kept=cells)


def images_of_lines(lines: Iterable[NumberedText], *, root: str | Path | None) -> ListedImages:
    """Images whose paths are lines of standard input, relative to the root if one is given."""
    numbers, paths = zip(*lines, strict=True)
    images = ImageFiles([Path(root or ".") / path for path in paths])
    return ListedImages(images, numbers, "standard input", lambda row: f"row {numbers[row]}")


def as_inputs(inputs: Any, kind: Kind) -> Inputs:
    """Inputs of a kind from Python objects; a single text or image counts as a list of one.

    Raises:
        DataError: for the first input that is of another kind, or faulty.
    """
    if kind == "vectors":
        try:
            vectors = Vectors(inputs)
        except (TypeError, ValueError) as error:
            raise DataError(f"inputs: expected vectors, shape (samples, features) ({error})") from error
        check_inputs(vectors, source="inputs")
        return vectors
    items = [inputs] if _is_single(inputs) else list(inputs)
    expected = (str,) if kind == "texts" else (str, PathLike, pillow().Image)
    for row, item in enumerate(items, 1):
        if not isinstance(item, expected):
            wanted = "a text" if kind == "texts" else "a path or a Pillow image"
            raise DataError(f"inputs: row {row}: expected {wanted}, got {type(item).__name__}")
    found: Inputs = Texts(items) if kind == "texts" else PythonImages(items)
    check_inputs(found, source="inputs")
    return found


def _is_single(inputs: Any) -> bool:
    return isinstance(inputs, str | PathLike) or not hasattr(inputs, "__iter__")


class PythonImages(Images):
    """Images as Python objects: paths of files, or Pillow images.

    Args:
        images: M paths or Pillow images.
    """

    def __init__(self, images: "Sequence[str | PathLike[str] | Image]") -> None:
        self._images = tuple(images)

    def __len__(self) -> int:
        return len(self._images)

    def name(self, row: int) -> str:
        """Path of the file, or the number of a Pillow image, from 1."""
        image = self._images[row]
        return fspath(image) if isinstance(image, str | PathLike) else f"image {row + 1}"

    def content(self, row: int) -> bytes:
        """The bytes of the file, or the pixels."""
        image = self._images[row]
        return file_content(fspath(image)) if isinstance(image, str | PathLike) else image.tobytes()

    def open(self, row: int) -> "Image":
        """The image, upright and RGB."""
        image = self._images[row]
        return super().open(row) if isinstance(image, str | PathLike) else upright_rgb(image, self.name(row))

    def take(self, rows: Rows) -> Self:
        """The images at these rows."""
        return type(self)([self._images[row] for row in rows]).with_digests_of(self, rows)
