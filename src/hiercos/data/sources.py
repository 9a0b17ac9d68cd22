"""Data sets, test samples and inputs from one argument: a built-in name, or a source that a registered reader takes."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn, TextIO

import numpy as np

from hiercos.data.catalogue.built_in import BUILT_IN
from hiercos.data.dataset import Dataset, data_fingerprint
from hiercos.data.images.decoding import CheckCallback, dataset_of_usable_images
from hiercos.data.inputs import Inputs, Kind
from hiercos.data.readers.registry import (
    STANDARD_INPUT,
    InputOptions,
    existing_suffix,
    input_reader,
    input_suffixes,
    prefix_of,
    sample_reader,
    sample_suffixes,
)
from hiercos.data.readers.table_files import SAMPLE_TABLES
from hiercos.data.readers.unlabelled import UnlabelledInputs
from hiercos.data.samples import LABEL_COLUMN, SPLIT_COLUMN, SourceOptions, SourceSamples
from hiercos.data.splits import (
    FRACTIONS,
    NEEDED,
    WITHOUT_TEST,
    Purpose,
    checked_split,
    completed_split,
    hash_split,
)
from hiercos.errors import MOST_FAULTS, DataError, FaultsError, reading, suggestion
from hiercos.taxonomy import (
    IntArray,
    SampleLabels,
    Taxonomy,
    counted,
    open_taxonomy,
    read_sample_labels,
    taxonomy_of_labels,
)


def load_dataset(
    source: str | Path,
    *,
    taxonomy: str | Path | Taxonomy | None = None,
    text_column: str | None = None,
    path_column: str | None = None,
    label_column: str = LABEL_COLUMN,
    split_column: str = SPLIT_COLUMN,
    root: str | Path | None = None,
    on_error: str = "fail",
    callback: CheckCallback | None = None,
    purpose: Purpose = "compare",
    test: bool = True,
) -> Dataset:
    """Load a data set by its built-in name, path or Hugging Face name.

    Args:
        source: a built-in name (`icd10cm`, or `icd10cm:9,10` for some chapters), a folder of images, a .csv, .tsv,
            .parquet or .jsonl table, an .npz of vectors, or a data set of Hugging Face (`hf:NAME`, or a folder that
            its `save_to_disk` left).
        taxonomy: taxonomy of the user's own data, its file or a catalogue name; without one, the folders or the labels
            must be paths `a > b > c`.
        text_column: name of the column of texts in a table, "text" by default.
        path_column: name of the column of image paths in a table without texts, "path" by default.
        label_column: name of the column of labels in a table.
        split_column: name of the column of splits in a table; without the default column, a split is made by hash.
        root: folder with the files of built-in data sets (see `data_root`), or the folder that paths in a table are
            relative to; by default the folder of the table.
        on_error: "fail" to raise for images that cannot be decoded and empty texts, "skip" to leave them out.
        callback: progress callback of the check for faulty images: called with the number checked and the total.
        purpose: purpose of the data, see `Dataset`.
        test: whether to choose test samples, too, if the data have no split.

    Raises:
        DataError: for unusable data, with every fault by file, row and value.
        TaxonomyError: for an unusable taxonomy.
    """
    name, _, rest = str(source).partition(":")
    if name in BUILT_IN:
        if taxonomy is not None:
            raise DataError(f"{name} brings its own taxonomy: expected no other, got {_shown(taxonomy)}")
        found = BUILT_IN[name].load(rest, None if root is None else Path(root))
        return dataset_of_usable_images(found, on_error, callback)
    options = SourceOptions(text_column, path_column, label_column, split_column, root, on_error, callback)
    tree, tree_name = (open_taxonomy(taxonomy), str(taxonomy)) if isinstance(taxonomy, str | Path) else (taxonomy, "")
    samples = read_samples(source, options)
    return _dataset(source_name(source), samples, tree, tree_name=tree_name, purpose=purpose, test=test)


def check_source(source: str | Path) -> None:
    """Raise a `DataError` for an unknown name or a missing file, with the nearest name; nothing is read."""
    path, name = Path(source), str(source).partition(":")[0]
    if name in BUILT_IN or sample_reader(str(source)) is not None:
        return
    if not path.exists() and not path.suffix and path.name == str(source):
        missing = "there is no such file or folder, and no built-in data set of that name"
        raise DataError(f"{source}: {missing}{suggestion(name, BUILT_IN)}")
    existing_suffix(path, sample_suffixes(), f", a folder of images or a built-in name ({', '.join(BUILT_IN)})")


def read_samples(source: str | Path, options: SourceOptions) -> SourceSamples:
    """Labelled samples of any source but a built-in data set, as the user wrote them."""
    check_source(source)
    reader = sample_reader(str(source))
    assert reader is not None  # as checked
    with reading(f"{source}: the data cannot be read", DataError):
        return reader.samples(str(source), options)


def source_name(source: str | Path) -> str:
    """Name of a source in messages; a path has no slash at its end."""
    return str(source) if prefix_of(str(source)) else str(Path(source))


def _shown(taxonomy: str | Path | Taxonomy) -> str:
    return repr(taxonomy) if isinstance(taxonomy, Taxonomy) else str(taxonomy)


def _dataset(
    source: str, samples: SourceSamples, taxonomy: Taxonomy | None, *, tree_name: str, purpose: Purpose, test: bool
) -> Dataset:
    """Data set of these samples; without a taxonomy, one is made from the labels. Messages call it `tree_name`."""
    row_name, notes = samples.row_name, samples.notes
    tree = samples.taxonomy if taxonomy is None else taxonomy
    if taxonomy is not None and samples.taxonomy not in (None, taxonomy):
        raise DataError(f"{source} brings another taxonomy: expected that one or none, got {taxonomy!r}")
    if tree is None and isinstance(samples.labels, np.ndarray) and samples.labels.ndim > 1:
        raise DataError(f"{source}: several labels of a sample need a taxonomy (--taxonomy FILE)")
    if tree is None:
        tree = _tree_of_labels(samples, source)
        size = counted(tree.num_classes, "class", "classes")
        made = f"{source} came without a taxonomy: one with {size} was made from the labels."
        notes = (*notes, made)
    found = _checked_labels(samples, tree, source, tree_name)
    chosen, said = completed_split(
        samples.inputs.split_keys(),
        samples.split,
        source=source,
        row_name=row_name,
        needed=NEEDED[purpose],
        fractions=FRACTIONS if test else WITHOUT_TEST,
    )
    return Dataset(
        name=dataset_name(source),
        taxonomy=tree,
        inputs=samples.inputs,
        labels=found.labels,
        label_sets=found.sets,
        split=chosen,
        notes=(*notes, *said, *found.notes),
        source=source,
        origin=samples.origin,
        purpose=purpose,
    )


def _tree_of_labels(samples: SourceSamples, source: str) -> Taxonomy:
    """Taxonomy made from the labels; its faults are raised together with those of the inputs."""
    try:
        return taxonomy_of_labels(samples.labels, source=source, row_name=samples.row_name, path_form=samples.path_form)
    except FaultsError as error:
        if not samples.faults:
            raise
        raise DataError(_by_row(samples.faults, error.faults)) from error


def _checked_labels(samples: SourceSamples, taxonomy: Taxonomy, source: str, tree_name: str = "") -> SampleLabels:
    """The labels of samples; a DataError has every fault of the inputs, the labels and the splits."""
    found, faults = None, [samples.faults]
    try:
        found = read_sample_labels(
            samples.labels, taxonomy, source=source, row_name=samples.row_name, tree_name=tree_name
        )
    except DataError as error:
        faults.append(error.faults)
    try:
        if samples.split is not None:
            checked_split(samples.split, source=source, row_name=samples.row_name)
    except DataError as error:
        faults.append(error.faults)
    if found is None or any(faults):
        raise DataError(_by_row(*faults))
    return found


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


def dataset_name(source: str) -> str:
    """Name of a source in tables: without its prefix, a file without its extension, or a folder."""
    if prefix := prefix_of(source):
        return source.removeprefix(prefix)
    path = Path(source)
    return path.stem if path.suffix.lower() in sample_suffixes() else path.resolve().name


EXPECTED_TABLE = f"a table ({', '.join(SAMPLE_TABLES)})"
EXPECTED = {
    "vectors": "an .npz of vectors",
    "texts": f"{EXPECTED_TABLE} of texts",
    "images": f"an image, a folder of images or {EXPECTED_TABLE} of their paths",
}


def read_inputs(
    path: str | Path,
    *,
    kind: Kind,
    text_column: str | None = None,
    path_column: str | None = None,
    root: str | Path | None = None,
    on_error: str = "fail",
    keep_columns: Sequence[str] = (),
    callback: CheckCallback | None = None,
    stdin: TextIO | None = None,
) -> UnlabelledInputs:
    """Vectors of an .npz file, texts of a table, or images of a folder, a file or a table of paths.

    A file is read twice: a first pass finds every fault, a second one gives the batches. Texts on standard input are
    checked as they are read.

    Args:
        path: file or folder, or "-" for standard input, where every line is a text or the path of an image. A folder
            gives every image below it, sorted by path.
        kind: kind of inputs that the model takes.
        text_column: name of the column of texts in a table, "text" by default.
        path_column: name of the column of image paths in a table, "path" by default.
        root: folder that paths are relative to; by default that of the table, or the current one for standard input.
        on_error: "fail" to raise for images that cannot be decoded and empty texts, "skip" to leave them out.
        keep_columns: names of the columns of a table to copy to the answers; only "all" for all but the texts.
        callback: progress callback of the check for faulty images; None for no reports.
        stdin: stream to read for "-"; standard input by default.

    Raises:
        DataError: for another kind of file, an empty text, a number that is not finite, or faulty images.
    """
    reader = input_reader(str(path), kind)
    if reader is None:
        _refuse_inputs(path, kind)
    if keep_columns and Path(path).suffix.lower() not in SAMPLE_TABLES:
        raise DataError(f"--keep-columns: expected {EXPECTED_TABLE} as input, got {path}")
    options = InputOptions(text_column, path_column, root, on_error, callback, stdin, keep_columns)
    with reading(f"{path}: the inputs cannot be read", DataError):
        return reader.inputs(str(path), kind, options)


def _refuse_inputs(path: str | Path, kind: Kind) -> NoReturn:
    """Raise a DataError for inputs that no reader takes."""
    file = Path(path)
    if str(path) == STANDARD_INPUT:
        raise DataError("this model takes vectors: expected an .npz file, got texts on standard input")
    if not file.exists() or file.is_dir():
        folder = " or a folder" * (kind == "images")
        existing_suffix(file, input_suffixes(kind), f"{folder} because this model takes {kind}")
    raise DataError(f"expected {EXPECTED[kind]} because this model takes {kind}, got {file}")


@dataclass(frozen=True, eq=False)
class TestSamples:
    """Labelled samples to test a model on.

    Attributes:
        inputs: M texts, vectors or images.
        labels: class index y < C of each sample, or C + node for an inner node, shape (M,).
        notes: sentences for the user about which rows were chosen; empty if the data have a split.
        label_sets: nodes of the labels of each sample, shape (M, K), -1 for none; None if every sample has one label.
    """

    inputs: Inputs
    labels: IntArray
    notes: tuple[str, ...] = ()
    label_sets: IntArray | None = None


def load_test_samples(
    source: str | Path,
    taxonomy: Taxonomy,
    *,
    trained_on: str | None = None,
    embedded_from: str | None = None,
    kinds: Sequence[Kind] = (),
    options: SourceOptions | None = None,
) -> TestSamples:
    """Samples to test a model on: the rows of the test split, or every row of a file without splits.

    A file without splits that the model was trained on was split by hash, so it is split by hash again; if no test rows
    were set aside, it is refused.

    Args:
        source: built-in name, path or Hugging Face name, see `load_dataset`.
        taxonomy: taxonomy of the model, whose classes the labels name.
        trained_on: fingerprint of the data set the model was trained on, from its record.
        embedded_from: fingerprint of the images or texts whose features it was trained on; None for other models.
        kinds: kinds of inputs that the model takes, its own first; any by default.
        options: columns, folders and what to do with faulty inputs, as in `load_dataset`; its defaults if None.

    Raises:
        DataError: for unusable data, another kind of inputs or taxonomy than the model's, or a split without test
            rows.
    """
    options = options or SourceOptions()
    if str(source).partition(":")[0] in BUILT_IN:
        dataset = load_dataset(source, root=options.root, on_error=options.on_error, callback=options.callback)
        if dataset.taxonomy != taxonomy:
            raise DataError(f"{source} has another taxonomy than the model")
        rows = dataset.rows("test")
        return TestSamples(dataset.inputs.take(rows), dataset.labels[rows])
    samples, name = read_samples(source, options), source_name(source)
    if kinds and (given := samples.inputs.kind) not in kinds:  # first: its labels would all be unknown
        taken = f"{EXPECTED[kinds[0]]} because this model takes {kinds[0]}"
        raise DataError(f"expected {taken}, got {name} with {given}")
    return _test_samples(name, samples, taxonomy, {trained_on, embedded_from})


def _test_samples(source: str, samples: SourceSamples, taxonomy: Taxonomy, trained_on: set[str | None]) -> TestSamples:
    if samples.taxonomy not in (None, taxonomy):
        raise DataError(f"{source} has another taxonomy than the model")
    inputs, notes = samples.inputs, list(samples.notes)
    found = _checked_labels(samples, taxonomy, source)
    if samples.split is None:
        keys = inputs.split_keys()
        by_hash, without_test = hash_split(keys), hash_split(keys, WITHOUT_TEST)
        chosen = np.ones(len(inputs), dtype=bool)
        if data_fingerprint(taxonomy, inputs, found.labels, without_test, found.sets) in trained_on:
            raise DataError(f"{source}: the model was trained on these rows, with --no-test; expected other rows")
        if data_fingerprint(taxonomy, inputs, found.labels, by_hash, found.sets) in trained_on:
            chosen = by_hash == "test"
            notes.append(f"{source} is what the model was trained on: only its {chosen.sum()} test rows are used.")
        else:
            notes.append(f"{source} has no split: all {len(inputs)} rows are used.")
    else:
        chosen = checked_split(samples.split, source=source, row_name=samples.row_name) == "test"
        if not chosen.any():
            raise DataError(f"{source}: no row belongs to the split 'test'; expected test rows, or no splits at all")
    rows = np.flatnonzero(chosen)
    tested = found.take(rows, taxonomy, source=source)
    return TestSamples(inputs.take(rows), tested.labels, (*notes, *tested.notes), tested.sets)
