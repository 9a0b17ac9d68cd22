"""Rows of a source in memory: without unusable inputs, with the taxonomy, the nodes and the split of their labels."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from hiercos.data.images.decoding import usable_rows
from hiercos.data.inputs import text_fault
from hiercos.data.rows import InputBatch, Source, SourceOptions
from hiercos.data.splits import TextArray, checked_split
from hiercos.errors import MOST_FAULTS, DataError, FaultsError, listed
from hiercos.taxonomy import (
    SampleLabels,
    Taxonomy,
    counted,
    read_sample_labels,
    taxonomy_of_labels,
    unusable_labels,
)

LABELS_SHOWN = 5  # of those that cannot be used


class SourceRows(NamedTuple):
    """All rows of a source in memory.

    Attributes:
        source: source of the rows.
        batch: rows without those that are left out.
        notes: sentences for the user about decisions made while reading.
        faults: sentences about unusable inputs; they are raised together with the faults of labels and splits.
    """

    source: Source
    batch: InputBatch
    notes: tuple[str, ...]
    faults: Sequence[str] = ()

    def row_name(self, row: int) -> str:
        """Name of a row in messages."""
        return self.source.row_name(self.batch.numbers[row])


def usable_rows_of(source: Source, options: SourceOptions) -> SourceRows:
    """All rows of a source, without those that are to be left out."""
    batch, name = source.whole(), source.name
    if source.kind == "images":
        rows, notes = usable_rows(
            batch.inputs,
            source=name,
            on_error=options.on_error,
            row_name=(lambda row: source.row_name(batch.numbers[row])) if source.names_images else None,
            callback=options.callback,
        )
        return SourceRows(source, batch.take(rows) if notes else batch, (*source.notes, *notes))
    if source.kind == "vectors":
        return SourceRows(source, batch, source.notes, [f"{name}: {fault}" for fault in batch.inputs.faults()])
    faults = text_faults(source, [batch])
    fatal, notes = faults_and_notes(source, faults, len(batch), options.on_error)
    return SourceRows(source, batch if fatal else without(batch, faults), (*source.notes, *notes), fatal)


def text_faults(source: Source, batches: Iterable[InputBatch]) -> dict[int, str]:
    """Sentence about each unusable text, by the number of its row."""
    return {
        number: f"{source.row_name(number)}: {fault}"
        for batch in batches
        for number, text in zip(batch.numbers, batch.inputs.values(range(len(batch))), strict=True)
        if (fault := text_fault(text))
    }


def faults_and_notes(
    source: Source, faults: Mapping[int, str], count: int, on_error: str
) -> tuple[list[str], tuple[str, ...]]:
    """Faults of texts that are to be raised, and notes about those whose rows are left out; one of them is empty."""
    usable = count - len(faults)
    if faults and (on_error == "fail" or not usable):
        hint = "; --on-error skip leaves such rows out" if usable else ""
        return [f"{source.name}: {fault}{'' if row else hint}" for row, fault in enumerate(faults.values())], ()
    if not faults:
        return [], ()
    head = f"{source.name}: {len(faults):,} of {count:,} texts cannot be used; left out:"
    return [], (head, *(f"    {fault}" for fault in faults.values()))


def without(batch: InputBatch, faults: Mapping[int, str]) -> InputBatch:
    """The rows that have no fault."""
    return batch.take([row for row, number in enumerate(batch.numbers) if number not in faults]) if faults else batch


def taxonomy_of(rows: SourceRows, given: Taxonomy | None) -> tuple[Taxonomy, tuple[str, ...]]:
    """The taxonomy of labelled rows: the given one, that of the source, or one made from the labels; notes on it."""
    source, labels = rows.source, rows.batch.labels
    assert labels is not None
    tree = source.taxonomy if given is None else given
    if tree is not None:
        return tree, ()
    if isinstance(labels, np.ndarray) and labels.ndim > 1:
        raise DataError(f"{source.name}: several labels of a sample need a taxonomy (--taxonomy FILE)")
    try:
        tree = taxonomy_of_labels(labels, source=source.name, row_name=rows.row_name, path_form=source.path_form)
    except FaultsError as error:
        if not rows.faults:
            raise
        raise DataError(_by_row(rows.faults, error.faults)) from error
    size = counted(tree.num_classes, "class", "classes")
    return tree, (f"{source.name} came without a taxonomy: one with {size} was made from the labels.",)


def with_usable_labels(rows: SourceRows, taxonomy: Taxonomy, on_error: str) -> SourceRows:
    """Rows without those whose labels cannot be used, with a note, if such rows are to be left out."""
    labels, batch = rows.batch.labels, rows.batch
    assert labels is not None
    unusable = unusable_labels(labels, taxonomy) if on_error == "skip" else {}
    if not unusable or len(unusable) == len(batch):
        return rows
    kinds = Counter(map(repr, unusable.values())).most_common()
    shown = listed((f"{label} ({count})" for label, count in kinds), LABELS_SHOWN)
    name, kept = rows.source.name, [row for row in range(len(batch)) if row not in unusable]
    note = f"{name}: {len(unusable):,} of {len(batch):,} rows have labels that cannot be used; left out: {shown}."
    return rows._replace(batch=batch.take(kept), notes=(*rows.notes, note))


def labels_and_split(
    rows: SourceRows, taxonomy: Taxonomy, tree_name: str = ""
) -> tuple[SampleLabels, TextArray | None]:
    """Labels and splits of rows; a DataError has every fault of the inputs, the labels and the splits."""
    source, batch, faults = rows.source.name, rows.batch, [rows.faults]
    labels, split = None, None
    assert batch.labels is not None
    try:
        labels = read_sample_labels(batch.labels, taxonomy, source=source, row_name=rows.row_name, tree_name=tree_name)
    except DataError as error:
        faults.append(error.faults)
    try:
        if batch.split is not None:
            split = checked_split(batch.split, source=source, row_name=rows.row_name)
    except DataError as error:
        faults.append(error.faults)
    if labels is None or any(faults):
        raise DataError(_by_row(*faults))
    return labels, split


def _by_row(*kinds: Sequence[str]) -> list[str]:
    """Faults of several kinds in the order of their rows; those that a message shows are of every kind.

    Example:
        >>> _by_row(["a.csv: row 9: the text is empty"], ["a.csv: row 2: unknown label 'x'"])
        ["a.csv: row 2: unknown label 'x'", 'a.csv: row 9: the text is empty']
    """
    in_turn = [fault for turn in zip_longest(*kinds) for fault in turn if fault is not None]
    return [*sorted(in_turn[:MOST_FAULTS], key=_row_number), *sorted(in_turn[MOST_FAULTS:], key=_row_number)]


def _row_number(fault: str) -> float:
    """Number of the row that a fault names first; infinite if it names none."""
    found = re.search(r"\brow (\d+):", fault)
    return int(found.group(1)) if found else math.inf
