"""Inputs without labels, for prediction: streamed in batches, in memory that does not grow with the number of rows."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.faulty import CheckCallback, usable_rows
from hiercos.data.inputs import Inputs, Kind, Texts, Vectors, vector_faults
from hiercos.data.readers.folders import image_tree, other_files
from hiercos.data.readers.npz import FeatureStream
from hiercos.data.readers.table import listed_images, no_rows, read_table, table_rows
from hiercos.errors import DataError, RowName
from hiercos.options import check_count

CHECKED_AT_ONCE = 1024  # vectors that are checked together

NumberedText = tuple[int, str]


@dataclass(frozen=True)
class InputBatch:
    """A batch of inputs without labels.

    Attributes:
        numbers: row number of each input as people count, B of them: the line of a text file, else from 1.
        inputs: B texts, vectors or images.
    """

    numbers: Sequence[int]
    inputs: Inputs

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class UnlabelledInputs:
    """Inputs to predict, read in batches as they are needed.

    Attributes:
        kind: "texts", "vectors" or "images".
        count: number of inputs; None for standard input, where it is not known.
        notes: sentences about what was left out, for the user to see.
        read: gives the batches of at most so many inputs each.
    """

    kind: Kind
    count: int | None
    read: Callable[[int], Iterator[InputBatch]]
    notes: tuple[str, ...] = ()

    def batches(self, size: int) -> Iterator[InputBatch]:
        """Batches of `size` inputs in order, the last one smaller; standard input gives them only once.

        Raises:
            ValueError: for a size below 1.
            DataError: for a fault that could not be found before, as on standard input.
        """
        check_count("size", size)
        return self.read(size)

    def whole(self) -> InputBatch:
        """All inputs as one batch, in memory."""
        (batch,) = self.batches(sys.maxsize)
        return batch

    @classmethod
    def in_memory(
        cls, inputs: Inputs, numbers: Sequence[int] | None = None, notes: tuple[str, ...] = ()
    ) -> "UnlabelledInputs":
        """Inputs that are in memory already.

        Args:
            inputs: M texts, vectors or images.
            numbers: row number of each, M of them; by default from 1.
            notes: sentences for the user to see.
        """
        shown = range(1, len(inputs) + 1) if numbers is None else numbers

        def read(size: int) -> Iterator[InputBatch]:
            for start in range(0, len(inputs), size):
                rows = range(start, min(start + size, len(inputs)))
                yield InputBatch(shown[rows.start : rows.stop], inputs.take(rows))

        return cls(inputs.kind, len(inputs), read, notes)


def numbered_lines(stream: TextIO) -> Iterator[NumberedText]:
    """Lines that are not blank, with their numbers, as they come.

    Raises:
        DataError: for text that is not UTF-8, or behind the last line if all are blank.
    """
    found = False
    try:
        for number, line in enumerate(stream, 1):
            if line.strip():
                found = True
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: expected text in UTF-8 ({error.reason})") from error
    if not found:
        raise DataError("standard input: expected at least one line of text, got none")


def _text_batches(texts: Iterable[NumberedText], size: int) -> Iterator[InputBatch]:
    """Batches of a stream of texts."""
    stream = iter(texts)
    while batch := list(islice(stream, min(size, sys.maxsize))):
        yield InputBatch([number for number, _ in batch], Texts([text for _, text in batch]))


def texts_of_lines(stream: TextIO) -> UnlabelledInputs:
    """Texts of a stream, one a line; their number is not known."""
    lines = numbered_lines(stream)
    return UnlabelledInputs("texts", None, lambda size: _text_batches(lines, size))


def texts_of_table(path: Path, column: str) -> UnlabelledInputs:
    """Texts of a table, checked in a first pass and read again for every pass over the batches."""
    count, faults = 0, []
    for number, text in _column_texts(path, column):
        count += 1
        if not text.strip():
            faults.append(f"{path}: row {number}: the text is empty")
    if not count:
        raise DataError(no_rows(path))
    if faults:
        raise DataError(faults)
    return UnlabelledInputs("texts", count, lambda size: _text_batches(_column_texts(path, column), size))


def _column_texts(path: Path, column: str) -> Iterator[NumberedText]:
    return ((number, cells[column]) for number, cells in table_rows(path, columns=(column,)))


def vectors_of_npz(path: Path) -> UnlabelledInputs:
    """Vectors of an .npz file, checked in a first pass and read again for every pass over the batches."""
    stream, faults, first = FeatureStream(path), [], 0
    for part in stream.chunks(CHECKED_AT_ONCE):
        faults += [f"{path}: {fault}" for fault in vector_faults(part, first)]
        first += len(part)
    if faults:
        raise DataError(faults)

    def read(size: int) -> Iterator[InputBatch]:
        done = 0
        for part in stream.chunks(size):
            yield InputBatch(range(done + 1, done + len(part) + 1), Vectors(part))
            done += len(part)

    return UnlabelledInputs("vectors", first, read)


def usable_images(listed: "ListedImages", on_error: str, callback: CheckCallback | None) -> UnlabelledInputs:
    """The images that can be decoded, with their numbers in the whole list and a note about the others."""
    rows, notes = usable_rows(
        listed.images, source=listed.source, on_error=on_error, row_name=listed.row_name, callback=callback
    )
    numbers = [listed.numbers[row] for row in rows]
    return UnlabelledInputs.in_memory(listed.images.take(rows), numbers, (*listed.notes, *notes))


@dataclass(frozen=True)
class ListedImages:
    """Names of images, not yet decoded.

    Attributes:
        images: M images.
        numbers: row number of each as people count: the line of a text file, else from 1.
        source: name of them all in messages.
        row_name: name of each row in messages, where a table or standard input lists them.
        notes: sentences about what was left out.
    """

    images: ImageFiles
    numbers: Sequence[int]
    source: str
    row_name: RowName | None = None
    notes: tuple[str, ...] = ()


def images_below(folder: Path) -> ListedImages:
    """Every image below a folder in the order of the paths."""
    tree = image_tree(folder)
    images = ImageFiles([folder / image for image in tree.images])
    return ListedImages(images, range(1, len(images) + 1), str(folder), notes=other_files(folder, tree))


def images_of_table(path: Path, column: str, root: str | Path | None) -> ListedImages:
    """The images that a table lists; their paths start from the root, or else from the folder of the table."""
    table = read_table(path, columns=(column,))
    images = listed_images(table.columns[column], path, root, table.row_name)
    return ListedImages(images, table.numbers, str(path), table.row_name)


def images_of_lines(lines: Iterable[NumberedText], *, root: str | Path | None) -> ListedImages:
    """The images whose paths stand on the lines of standard input; they start from the root, if one is given."""
    numbers, paths = zip(*lines, strict=True)
    images = ImageFiles([Path(root or ".") / path for path in paths])
    return ListedImages(images, numbers, "standard input", lambda row: f"row {numbers[row]}")
