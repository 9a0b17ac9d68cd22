"""Samples to test a trained model on, never those it was trained on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hiercos.data.catalogue.built_in import BUILT_IN
from hiercos.data.dataset import data_fingerprint
from hiercos.data.images.faulty import CheckCallback
from hiercos.data.inputs import Inputs
from hiercos.data.samples import LABEL_COLUMN, SPLIT_COLUMN, SourceOptions, SourceSamples
from hiercos.data.sources import load_dataset, read_samples, source_name
from hiercos.data.splits import checked_split, hash_split
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray, Taxonomy, read_sample_labels


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
    text_column: str | None = None,
    path_column: str | None = None,
    label_column: str = LABEL_COLUMN,
    split_column: str = SPLIT_COLUMN,
    root: str | Path | None = None,
    on_error: str = "fail",
    callback: CheckCallback | None = None,
) -> TestSamples:
    """Samples to test a model on: the rows of the test split, or every row of a file without splits.

    A file without splits that the model was trained on was split by hash, so it is split by hash again.

    Args:
        source: built-in name, path or Hugging Face name, see `load_dataset`.
        taxonomy: taxonomy of the model, whose classes the labels name.
        trained_on: fingerprint of the data set the model was trained on, from its record.
        embedded_from: fingerprint of the images or texts whose features it was trained on; None for other models.
        text_column: name of the column of texts in a table, "text" by default.
        path_column: name of the column of image paths in a table without texts, "path" by default.
        label_column: name of the column of labels in a table.
        split_column: name of the column of splits in a table.
        root: folder with the files of built-in data sets, or the folder that paths in a table are relative to.
        on_error: "fail" to raise for images that cannot be decoded, "skip" to leave them out.
        callback: progress callback of the check for faulty images; None for no reports.

    Raises:
        DataError: for unusable data, another taxonomy than the model's, or a split without test rows.
    """
    if str(source).partition(":")[0] in BUILT_IN:
        dataset = load_dataset(source, root=root, on_error=on_error, callback=callback)
        if dataset.taxonomy != taxonomy:
            raise DataError(f"{source} has another taxonomy than the model")
        rows = dataset.rows("test")
        return TestSamples(dataset.inputs.take(rows), dataset.labels[rows])
    options = SourceOptions(text_column, path_column, label_column, split_column, root, on_error, callback)
    return _test_samples(source_name(source), read_samples(source, options), taxonomy, {trained_on, embedded_from})


def _test_samples(source: str, samples: SourceSamples, taxonomy: Taxonomy, trained_on: set[str | None]) -> TestSamples:
    if samples.taxonomy not in (None, taxonomy):
        raise DataError(f"{source} has another taxonomy than the model")
    inputs, notes = samples.inputs, list(samples.notes)
    found = read_sample_labels(samples.labels, taxonomy, source=source, row_name=samples.row_name)
    if samples.split is None:
        by_hash = hash_split(inputs.split_keys())
        chosen = np.ones(len(inputs), dtype=bool)
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
