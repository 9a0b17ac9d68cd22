"""Rows of a source as its reader gives them, in batches, and the options for reading them."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.data.dataset import FeatureOrigin
from hiercos.data.images.decoding import CheckCallback, check_on_error
from hiercos.data.inputs import Inputs, Kind, Rows
from hiercos.errors import DataError
from hiercos.options import check_count
from hiercos.taxonomy import AnyArray, Taxonomy

TEXT_COLUMN, PATH_COLUMN, LABEL_COLUMN, SPLIT_COLUMN = "text", "path", "label", "split"

Column = Sequence[str] | AnyArray  # a value for each row


@dataclass(frozen=True)
class SourceOptions:
    """Options for reading the user's own data.

    Attributes:
        input_column: name of the column of texts or of paths to images in a table; "text" by default, else "path".
        label_column: name of the column of labels; None to read neither labels nor splits.
        split_column: name of the column of splits; without the default column, there are none.
        root: folder that the paths in a table are relative to, by default that of the table; for built-in data sets,
            the folder of their files (see `data_root`).
        on_error: "fail" to raise for images that cannot be decoded, empty texts and unusable labels, "skip" to leave
            these rows out.
        keep_columns: names of the columns of a table to copy to the answers; only "all" for all but the texts.
        callback: progress callback of the check for faulty images: called with the number checked and the total.
    """

    input_column: str | None = None
    label_column: str | None = LABEL_COLUMN
    split_column: str = SPLIT_COLUMN
    root: str | Path | None = None
    on_error: str = "fail"
    keep_columns: Sequence[str] = ()
    callback: CheckCallback | None = None

    def __post_init__(self) -> None:
        check_on_error(self.on_error)

    @property
    def is_labelled(self) -> bool:
        """Whether labels are read."""
        return self.label_column is not None


@dataclass(frozen=True)
class InputBatch:
    """Consecutive rows of a source.

    Attributes:
        numbers: number of each row, B numbers: the line in a text file, else counted from 1.
        inputs: B texts, vectors or images.
        kept: cells of the columns of the input table that are copied to the answers, B texts each, by column name.
        labels: label of each row as the user wrote it, B values; None if they were not asked for.
        split: split of each row, B values; None if the source has none.
    """

    numbers: Sequence[int]
    inputs: Inputs
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)
    labels: Column | None = None
    split: Column | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, places: Rows) -> "InputBatch":
        """The rows at these places, counted from 0."""
        return InputBatch(
            _at(self.numbers, places),
            self.inputs.take(places),
            {name: _at(cells, places) for name, cells in self.kept.items()},
            None if self.labels is None else _at(self.labels, places),
            None if self.split is None else _at(self.split, places),
        )


def _at(values: Any, places: Rows) -> Any:
    """Items of an array or a sequence at these places, as an array or a list."""
    if isinstance(values, np.ndarray):
        return values[np.asarray(places, dtype=np.int64)]
    return [values[place] for place in places]


Read = Callable[[int], Iterator[InputBatch]]  # function from a batch size to the batches, from the first row on


def in_batches(rows: InputBatch) -> Read:
    """A function that gives rows in memory in batches."""

    def read(size: int) -> Iterator[InputBatch]:
        if size >= len(rows):
            yield rows
            return
        for start in range(0, len(rows), size):
            yield rows.take(range(start, min(start + size, len(rows))))

    return read


def _row(number: int) -> str:
    return f"row {number}"


@dataclass(frozen=True)
class Source:
    """Rows of a file, a folder or a stream as a reader gives them: nothing is checked yet.

    Attributes:
        name: name of the source in messages.
        kind: "texts", "vectors" or "images".
        read: function from a batch size to the batches; every call begins with the first row.
        count: number of rows, if it is known without reading them.
        notes: sentences for the user about decisions made while reading.
        row_name: function from the number of a row to its name in messages.
        names_images: whether a fault of an image names its row, too, as the images that a table lists need.
        is_stream: whether the rows can be read only once, so that they are checked as they are read.
        taxonomy: taxonomy that came with the rows; None if none did.
        origin: origin of vectors that a backbone computed.
        path_form: form of labels that are paths, for messages.
    """

    name: str
    kind: Kind
    read: Read
    count: int | None = None
    notes: tuple[str, ...] = ()
    row_name: Callable[[int], str] = _row
    names_images: bool = False
    is_stream: bool = False
    taxonomy: Taxonomy | None = None
    origin: FeatureOrigin | None = None
    path_form: str = "labels such as 'a > b > c'"

    def whole(self) -> InputBatch:
        """All rows as one batch, in memory."""
        (rows,) = self.read(sys.maxsize)
        return rows


@dataclass(frozen=True)
class UnlabelledInputs:
    """Usable inputs for prediction, streamed in batches.

    Attributes:
        kind: "texts", "vectors" or "images".
        count: number of inputs; None for standard input, where it is unknown.
        read: function from a batch size to the batches.
        notes: sentences for the user about inputs that were left out.
    """

    kind: Kind
    count: int | None
    read: Read
    notes: tuple[str, ...] = ()

    def batches(self, size: int) -> Iterator[InputBatch]:
        """Batches of at most `size` inputs in order; standard input gives them only once.

        Raises:
            ValueError: for a size below 1.
            DataError: for a fault that is found only while reading, as on standard input.
        """
        check_count("size", size)
        return self.read(size)

    def whole(self) -> InputBatch:
        """All inputs as one batch, in memory; a DataError without any."""
        for batch in self.read(sys.maxsize):
            return batch
        raise DataError("inputs: expected at least one sample")

    @classmethod
    def in_memory(cls, inputs: Inputs, numbers: Sequence[int] | None = None) -> "UnlabelledInputs":
        """`UnlabelledInputs` over M inputs in memory, with the number of each row; by default from 1."""
        shown = range(1, len(inputs) + 1) if numbers is None else numbers
        return cls(inputs.kind, len(inputs), in_batches(InputBatch(shown, inputs)))
