"""Rows of a source as its reader gives them, in batches, and what of them can be used."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.checks import check_count
from hiercos.data.dataset import FeatureOrigin
from hiercos.data.images.decoding import CheckCallback, check_on_error, usable_rows
from hiercos.data.inputs import Inputs, Kind, Rows, text_fault, vector_faults
from hiercos.errors import DataError
from hiercos.taxonomy import AnyArray, Taxonomy

TEXT_COLUMN, PATH_COLUMN, LABEL_COLUMN, SPLIT_COLUMN = "text", "path", "label", "split"
CANDIDATES_COLUMN = "candidates"  # labels of which a row has one, such as `a | b`
CHECKED_AT_ONCE = 1024  # rows checked at a time

Column = Sequence[str] | AnyArray  # a value for each row


@dataclass(frozen=True)
class SourceOptions:
    """Options for reading the user's own data."""

    input_column: str | None = None  # column of texts or of paths to images; "text" by default, else "path"
    # kind of each input column, "" for one to guess, see `hiercos.data.columns`; None for one column of inputs
    columns: Mapping[str, str] | None = None
    label_column: str | None = LABEL_COLUMN  # column of labels; None to read neither labels nor splits
    split_column: str = SPLIT_COLUMN  # column of splits; without the default column, there are none
    # folder that the paths in a table are relative to, by default that of the table; for built-in data sets, the folder
    # of their files (see `data_root`)
    root: str | Path | None = None
    on_error: str = "fail"  # "fail" for faulty images, empty texts and unusable labels, or "skip" to leave them out
    keep_columns: Sequence[str] = ()  # columns of a table to copy to the answers; only "all" for all but the texts
    read_elsewhere: Sequence[str] = ()  # columns of a table that are read for something else, such as --within-column
    callback: CheckCallback | None = None  # called with the number of images checked for faults and the total

    def __post_init__(self) -> None:
        check_on_error(self.on_error)

    @property
    def is_labelled(self) -> bool:
        """Whether labels are read."""
        return self.label_column is not None


@dataclass(frozen=True)
class InputBatch:
    """Consecutive rows of a source."""

    numbers: Sequence[int]  # number of each row, B numbers: the line in a text file, else counted from 1
    inputs: Inputs  # B inputs
    kept: Mapping[str, Sequence[str]] = field(default_factory=dict)  # columns to copy to the answers, B cells each
    labels: Column | None = None  # label of each row as the user wrote it; None if they were not asked for
    split: Column | None = None  # split of each row; None if the source has none
    candidates: Sequence[str] | None = None  # labels of which each row has one, "" where it is known; None for none

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
            None if self.candidates is None else _at(self.candidates, places),
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
    """Rows of a file, a folder, a stream or Python objects."""

    name: str  # name of the source in messages
    kind: Kind
    read: Read  # function from a batch size to the batches; every call begins with the first row
    count: int | None = None  # number of rows, if it is known without reading them
    notes: tuple[str, ...] = ()  # sentences for the user about decisions made while reading
    row_name: Callable[[int], str] = _row  # function from the number of a row to its name in messages
    names_images: bool = False  # whether a fault of an image names its row, too, as the images that a table lists need
    is_stream: bool = False  # whether the rows can be read only once, so that they are checked as they are read
    taxonomy: Taxonomy | None = None  # taxonomy that came with the rows; None if none did
    origin: FeatureOrigin | None = None  # origin of vectors that a backbone computed
    path_form: str = "labels such as 'a > b > c'"  # form of labels that are paths, for messages

    @classmethod
    def of(cls, inputs: Inputs) -> "Source":
        """M inputs in memory, numbered from 1."""
        count = len(inputs)
        return cls("inputs", inputs.kind, in_batches(InputBatch(range(1, count + 1), inputs)), count)

    def batches(self, size: int) -> Iterator[InputBatch]:
        """Batches of at most `size` rows in order; a stream gives them only once.

        Raises:
            ValueError: for a size below 1.
            DataError: for a fault that is found only while reading, as on standard input.
        """
        check_count("size", size)
        return self.read(size)

    def whole(self) -> InputBatch:
        """All rows as one batch, in memory; a DataError without any."""
        for rows in self.read(sys.maxsize):
            return rows
        raise DataError(f"{self.name}: expected at least one sample")

    def checked(self, options: SourceOptions) -> "Source":
        """The rows without those that are left out; a DataError with every fault, see `usable`."""
        found, faults = self.usable(options)
        if faults:
            raise DataError(faults)
        return found

    def usable(self, options: SourceOptions, at_once: int = CHECKED_AT_ONCE) -> tuple["Source", Sequence[str]]:
        """The rows without those that are left out, and a sentence for each fault, after a first pass over them.

        Faulty images are raised at once; a stream is not read, since its rows are checked when they are.

        Args:
            options: whether faulty rows are left out.
            at_once: number of rows checked at a time.
        """
        if self.is_stream:
            return self, ()
        if self.kind == "images":
            return self._with_usable_images(options), ()
        if self.kind == "columns":
            return replace(self, count=sum(len(batch) for batch in self.read(at_once))), ()  # a fault is raised
        if self.kind == "vectors":
            faults = vector_faults(batch.inputs for batch in self.read(at_once))
            return self, [f"{self.name}: {fault}" for fault in faults]
        return self._with_usable_texts(options, at_once)

    def _with_usable_images(self, options: SourceOptions) -> "Source":
        batch = self.whole()
        rows, notes = usable_rows(
            batch.inputs,
            source=self.name,
            on_error=options.on_error,
            row_name=(lambda row: self.row_name(batch.numbers[row])) if self.names_images else None,
            callback=options.callback,
        )
        kept = batch.take(rows) if notes else batch
        return replace(self, read=in_batches(kept), count=len(kept), notes=(*self.notes, *notes))

    def _with_usable_texts(self, options: SourceOptions, at_once: int) -> tuple["Source", Sequence[str]]:
        faults: dict[int, str] = {}
        count = 0
        for batch in self.read(at_once):
            count += len(batch)
            for number, text in zip(batch.numbers, batch.inputs.values(range(len(batch))), strict=True):
                if fault := text_fault(text):
                    faults[number] = f"{self.row_name(number)}: {fault}"
        if not faults:
            return replace(self, count=count), ()
        if options.on_error == "fail" or len(faults) == count:
            hint = "; --on-error skip leaves such rows out" if len(faults) < count else ""
            return self, [f"{self.name}: {fault}{'' if row else hint}" for row, fault in enumerate(faults.values())]

        def read(size: int) -> Iterator[InputBatch]:
            for batch in self.read(size):
                if rows := [row for row, number in enumerate(batch.numbers) if number not in faults]:
                    yield batch.take(rows)

        head = f"{self.name}: {len(faults):,} of {count:,} texts cannot be used; left out:"
        notes = (*self.notes, head, *(f"    {fault}" for fault in faults.values()))
        return replace(self, read=read, count=count - len(faults), notes=notes), ()
