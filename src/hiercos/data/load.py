"""Data sets, test samples and inputs from one argument: a built-in name, or a source that a registered reader takes."""

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hiercos.data.built_in.table import BUILT_IN
from hiercos.data.columns import ColumnInputs, groups_of, times_of, weights_of
from hiercos.data.dataset import Dataset, completed, data_fingerprint, split_keys
from hiercos.data.images.decoding import usable_rows
from hiercos.data.inputs import Kind
from hiercos.data.readers.registry import STANDARD_INPUT, existing_suffix, known_suffixes, prefix_of, reader_of
from hiercos.data.readers.table import SAMPLE_TABLES
from hiercos.data.rows import InputBatch, Source, SourceOptions, in_batches
from hiercos.data.splits import Purpose, TextArray, checked_split, completed_split
from hiercos.errors import MOST_FAULTS, DataError, FaultsError, listed, reading, suggestion
from hiercos.taxonomy import (
    SampleLabels,
    Taxonomy,
    counted,
    open_taxonomy,
    read_candidates,
    read_sample_labels,
    taxonomy_of_labels,
    unusable_labels,
)

LABELS_SHOWN = 5  # of those that cannot be used


def load_dataset(
    source: str | Path,
    *,
    taxonomy: str | Path | Taxonomy | None = None,
    purpose: Purpose = "compare",
    test: bool = True,
    **options: Any,
) -> Dataset:
    """Load a data set by its built-in name, path or Hugging Face name.

    Args:
        source: a built-in name (`icd10cm`, or `icd10cm:9,10` for some chapters), a folder of images, a .csv, .tsv,
            .parquet or .jsonl table, an .npz of vectors, or a data set of Hugging Face (`hf:NAME`, or a folder that
            its `save_to_disk` left).
        taxonomy: taxonomy of the user's own data, its file or a catalogue name; without one, the folders or the labels
            must be paths `a > b > c`.
        purpose: purpose of the data, see `Dataset`.
        test: whether to choose test samples, too, if the data have no split.
        **options: attributes of `SourceOptions`, such as `input_column="title"`.

    Raises:
        DataError: for unusable data, with every fault by file, row and value.
        TaxonomyError: for an unusable taxonomy.

    Example:
        >>> dataset = load_dataset("icd10cm:3")
        >>> dataset.kind, dataset.inputs[0], dataset.taxonomy.num_classes
        ('texts', 'Iron deficiency anemia', 24)
    """
    chosen = SourceOptions(**options)
    name, _, rest = str(source).partition(":")
    if name in BUILT_IN:
        _check_columns(name, chosen)
        if taxonomy is not None:
            raise DataError(f"{name} brings its own taxonomy: expected no other, got {taxonomy}")
        found = BUILT_IN[name].load(rest, None if chosen.root is None else Path(chosen.root))
        return dataset_of_usable_images(found, chosen)
    given, tree_name = (open_taxonomy(taxonomy), str(taxonomy)) if isinstance(taxonomy, str | Path) else (taxonomy, "")
    rows = _labelled_rows(source, chosen)
    if given is not None and rows.source.taxonomy not in (None, given):
        raise DataError(f"{rows.source.name} brings another taxonomy: expected that one or none, got {given!r}")
    tree, made = _taxonomy_of(rows, given)
    rows = _with_usable_labels(rows, tree, chosen.on_error)
    labels, split = _labels_and_split(rows, tree, tree_name)
    if split is None:
        split = np.full(len(rows.batch), "")
    return completed(rows.dataset(tree, labels, split, notes=made, purpose=purpose), test=test)


class LabelledRows(NamedTuple):
    """All rows of a source in memory, without those that are left out."""

    source: Source
    batch: InputBatch
    faults: Sequence[str]  # sentences about unusable inputs, raised together with the faults of labels and splits

    def row_name(self, row: int) -> str:
        """Name of a row in messages."""
        return self.source.row_name(self.batch.numbers[row])

    def dataset(
        self,
        taxonomy: Taxonomy,
        labels: SampleLabels,
        split: TextArray,
        *,
        notes: tuple[str, ...],
        purpose: Purpose,
    ) -> Dataset:
        """The rows with what was read of them, and further notes."""
        inputs = self.batch.inputs
        columns = (f"{self.source.name}: {inputs.summary()}",) if isinstance(inputs, ColumnInputs) else ()
        return Dataset(
            name=dataset_name(self.source.name),
            taxonomy=taxonomy,
            inputs=inputs,
            groups=groups_of(inputs),
            times=times_of(inputs),
            weights=weights_of(inputs),
            nodes=labels.nodes,
            label_sets=labels.sets,
            candidates=labels.candidates,
            numbers=np.asarray(self.batch.numbers),
            split=split,
            notes=(*self.source.notes, *columns, *notes, *labels.notes),
            source=self.source.name,
            origin=self.source.origin,
            purpose=purpose,
        )


def _taxonomy_of(rows: LabelledRows, given: Taxonomy | None) -> tuple[Taxonomy, tuple[str, ...]]:
    """The given taxonomy, that of the source, or one made from the labels, which a note says."""
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


def _with_usable_labels(rows: LabelledRows, taxonomy: Taxonomy, on_error: str) -> LabelledRows:
    """Rows without those whose labels cannot be used, which a note counts, if such rows are to be left out."""
    source, batch, labels = rows.source, rows.batch, rows.batch.labels
    assert labels is not None
    unusable = unusable_labels(labels, taxonomy) if on_error == "skip" and batch.candidates is None else {}
    if not unusable or len(unusable) == len(batch):
        return rows
    kinds = Counter(map(repr, unusable.values())).most_common()
    shown = listed((f"{label} ({count})" for label, count in kinds), LABELS_SHOWN)
    kept = [row for row in range(len(batch)) if row not in unusable]
    note = f"{len(unusable):,} of {len(batch):,} rows have labels that cannot be used; left out: {shown}."
    noted = replace(source, notes=(*source.notes, f"{source.name}: {note}"))
    return rows._replace(source=noted, batch=batch.take(kept))


def _read_labels(rows: LabelledRows, taxonomy: Taxonomy, tree_name: str) -> SampleLabels:
    source, labels, candidates = rows.source.name, rows.batch.labels, rows.batch.candidates
    assert labels is not None
    if candidates is not None and any(map(str.strip, candidates)):
        texts = [str(label) for label in labels]
        return read_candidates(texts, candidates, taxonomy, source=source, row_name=rows.row_name)
    return read_sample_labels(labels, taxonomy, source=source, row_name=rows.row_name, tree_name=tree_name)


def _labels_and_split(
    rows: LabelledRows, taxonomy: Taxonomy, tree_name: str = ""
) -> tuple[SampleLabels, TextArray | None]:
    """Labels and splits of rows; a DataError has every fault of the inputs, the labels and the splits."""
    source, batch, faults = rows.source.name, rows.batch, [rows.faults]
    labels, split = None, None
    try:
        labels = _read_labels(rows, taxonomy, tree_name)
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


def check_source(source: str | Path) -> None:
    """Raise a `DataError` for an unknown name or a missing file, with the nearest name; nothing is read."""
    path, name = Path(source), str(source).partition(":")[0]
    if name in BUILT_IN or reader_of(str(source)) is not None:
        return
    if not path.exists() and not path.suffix and path.name == str(source):
        missing = "there is no such file or folder, and no built-in data set of that name"
        raise DataError(f"{source}: {missing}{suggestion(name, BUILT_IN)}")
    existing_suffix(path, known_suffixes(), f", a folder of images or a built-in name ({', '.join(BUILT_IN)})")


def source_name(source: str | Path) -> str:
    """Name of a source in messages; a path has no slash at its end."""
    return str(source) if prefix_of(str(source)) else str(Path(source))


def dataset_of_usable_images(dataset: Dataset, options: SourceOptions) -> Dataset:
    """A data set without the images that cannot be decoded, with a note; other kinds of data are unchanged.

    Args:
        dataset: data set of any kind.
        options: what to do with faulty images, and the progress callback of the check.

    Raises:
        DataError: with every faulty image.
    """
    rows, notes = usable_rows(
        dataset.inputs, source=dataset.source, on_error=options.on_error, callback=options.callback
    )
    return replace(dataset.take(rows), notes=(*dataset.notes, *notes)) if notes else dataset


def _labelled_rows(source: str | Path, options: SourceOptions, kinds: Sequence[Kind] = ()) -> LabelledRows:
    """Labelled rows of any source but a built-in data set, of one of these kinds; any by default."""
    check_source(source)
    name = source_name(source)
    reader = reader_of(name)
    assert reader is not None  # as checked
    _check_columns(name, options)
    with reading(f"{source}: the data cannot be read", DataError):
        found = reader.rows(name, options, kinds[0] if kinds else None)
        if kinds and found.kind not in kinds:  # first: its labels would all be unknown
            taken = f"{EXPECTED[kinds[0]]} because this model takes {kinds[0]}"
            raise DataError(f"expected {taken}, got {name} with {found.kind}")
        rows = found.whole()
        if not len(rows):
            raise DataError(f"{name}: expected at least one sample")
        kept, faults = replace(found, read=in_batches(rows)).usable(options, at_once=sys.maxsize)
        return LabelledRows(kept, kept.whole(), faults)


def _check_columns(source: str, options: SourceOptions) -> None:
    """Raise a DataError for columns of anything but a table, or beside one column of inputs."""
    if options.columns is not None and Path(source).suffix.lower() not in SAMPLE_TABLES:
        raise DataError(f"--columns: expected {EXPECTED_TABLE}, got {source}")
    if options.columns is not None and options.input_column is not None:
        raise DataError(f"--input-column {options.input_column}: expected no --columns with it")


def dataset_name(source: str) -> str:
    """Name of a source in tables: without its prefix, a file without its extension, or a folder."""
    if prefix := prefix_of(source):
        return source.removeprefix(prefix)
    path = Path(source)
    return path.stem if path.suffix.lower() in known_suffixes() else path.resolve().name


EXPECTED_TABLE = f"a table ({', '.join(SAMPLE_TABLES)})"
EXPECTED = {
    "vectors": "an .npz of vectors",
    "texts": f"{EXPECTED_TABLE} of texts",
    "images": f"an image, a folder of images or {EXPECTED_TABLE} of their paths",
    "columns": f"{EXPECTED_TABLE} with its columns",
}


def read_inputs(path: str | Path, *, kind: Kind, **options: Any) -> Source:
    """Vectors of an .npz file, texts of a table, or images of a folder, a file or a table of paths.

    A file is read twice: a first pass finds every fault, a second one gives the batches. Texts on standard input are
    checked as they are read.

    Args:
        path: file or folder, or "-" for standard input, where every line is a text or the path of an image. A folder
            gives every image below it, sorted by path.
        kind: kind of inputs that the model takes.
        **options: attributes of `SourceOptions`, such as `keep_columns=["sku"]`.

    Raises:
        DataError: for another kind of file, an empty text, a number that is not finite, or faulty images.
    """
    chosen = SourceOptions(**options, label_column=None)
    name = source_name(path)
    reader = reader_of(name, kind)
    if reader is None:
        _refuse_inputs(path, kind)
    if chosen.keep_columns and Path(path).suffix.lower() not in SAMPLE_TABLES:
        raise DataError(f"--keep-columns: expected {EXPECTED_TABLE} as input, got {path}")
    with reading(f"{path}: the inputs cannot be read", DataError):
        return reader.rows(name, chosen, kind).checked(chosen)


def _refuse_inputs(path: str | Path, kind: Kind) -> NoReturn:
    """Raise a DataError for inputs that no reader takes."""
    file = Path(path)
    if str(path) == STANDARD_INPUT:
        raise DataError(f"this model takes {kind}: expected {EXPECTED[kind]}, got texts on standard input")
    if not file.exists() or file.is_dir():
        folder = " or a folder" * (kind == "images")
        existing_suffix(file, known_suffixes(kind), f"{folder} because this model takes {kind}")
    raise DataError(f"expected {EXPECTED[kind]} because this model takes {kind}, got {file}")


def load_test_samples(
    source: str | Path,
    taxonomy: Taxonomy,
    *,
    trained_on: str | None = None,
    embedded_from: str | None = None,
    kinds: Sequence[Kind] = (),
    **options: Any,
) -> Dataset:
    """Samples to test a model on: the rows of the test split, or every row of a file without splits.

    A file without splits that the model was trained on was split by hash, so it is split by hash again; if no test rows
    were set aside, it is refused.

    Args:
        source: built-in name, path or Hugging Face name, see `load_dataset`.
        taxonomy: taxonomy of the model, whose classes the labels name.
        trained_on: fingerprint of the data set the model was trained on, from its record.
        embedded_from: fingerprint of the images or texts whose features it was trained on; None for other models.
        kinds: kinds of inputs that the model takes, its own first; any by default.
        **options: attributes of `SourceOptions`.

    Raises:
        DataError: for unusable data, another kind of inputs or taxonomy than the model's, or a split without test
            rows.
    """
    if str(source).partition(":")[0] in BUILT_IN:
        dataset = load_dataset(source, **options)
        if dataset.taxonomy != taxonomy:
            raise DataError(f"{source} has another taxonomy than the model")
        return replace(dataset, purpose="test", notes=()).take(dataset.rows("test"))
    chosen = SourceOptions(**options)
    found = _with_usable_labels(_labelled_rows(source, chosen, kinds), taxonomy, chosen.on_error)
    name = found.source.name
    if found.source.taxonomy not in (None, taxonomy):
        raise DataError(f"{name} has another taxonomy than the model")
    labels, split = _labels_and_split(found, taxonomy)
    notes: tuple[str, ...] = ()
    if split is None:
        split, note = _test_split(found, labels, taxonomy, {trained_on, embedded_from})
        notes = (note,)
    rows = np.flatnonzero(split == "test")
    if not len(rows):
        raise DataError(f"{name}: no row belongs to the split 'test'; expected test rows, or no splits at all")
    tested = labels.take(rows, taxonomy, source=name)
    part = found._replace(batch=found.batch.take(rows))
    return part.dataset(taxonomy, tested, split[rows], notes=notes, purpose="test")


def _test_split(
    rows: LabelledRows, labels: SampleLabels, taxonomy: Taxonomy, trained_on: set[str | None]
) -> tuple[TextArray, str]:
    """The split of rows without one: that of the training, if a model was trained on them, else all are for testing."""
    name, inputs, is_class = rows.source.name, rows.batch.inputs, taxonomy.classes_of(labels.nodes) >= 0
    groups, none = groups_of(inputs), np.full(len(inputs), "")
    others: dict[str, Any] = {"grouped": groups is not None, "times": times_of(inputs)}
    keys = split_keys(inputs, groups)
    for test, targets in product((True, False), repeat=2):
        split = completed_split(keys, labels.nodes, none, is_class=is_class, test=test, targets=targets, **others)
        if data_fingerprint(taxonomy, inputs, labels.nodes, split, labels.sets) not in trained_on:
            continue
        if not test:
            raise DataError(f"{name}: the model was trained on these rows, without test rows; expected other rows")
        count = np.count_nonzero(split == "test")
        return split, f"{name} is what the model was trained on: only its {count} test rows are used."
    return np.full(len(inputs), "test"), f"{name} has no split: all {len(inputs)} rows are used."
