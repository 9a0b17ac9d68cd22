"""Samples to test a trained model on, never those it was trained on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiercos.data.catalogue.built_in import BUILT_IN
from hiercos.data.dataset import data_fingerprint
from hiercos.data.images.faulty import CheckCallback
from hiercos.data.inputs import Inputs
from hiercos.data.samples import LABEL_COLUMN, SPLIT_COLUMN, SourceOptions, SourceSamples
from hiercos.data.sources import load_dataset, read_samples, source_name
from hiercos.data.splits import checked_split, hash_split
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray, LabelReader, Taxonomy, inner_label_notes, label_indices


@dataclass(frozen=True, eq=False)
class TestSamples:
    """Labelled samples to test a model on.

    Attributes:
        inputs: M texts, vectors or images.
        labels: class index y < C of each sample, or C + node for an inner node, shape (M,).
        notes: sentences for the user about which rows were chosen; empty if the data have a split.
    """

    inputs: Inputs
    labels: IntArray
    notes: tuple[str, ...] = ()


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
        return _chosen(dataset.inputs, dataset.labels, dataset.split == "test")
    options = SourceOptions(text_column, path_column, label_column, split_column, root, on_error, callback)
    return _test_samples(source_name(source), read_samples(source, options), taxonomy, {trained_on, embedded_from})


def _test_samples(source: str, samples: SourceSamples, taxonomy: Taxonomy, trained_on: set[str | None]) -> TestSamples:
    if samples.taxonomy not in (None, taxonomy):
        raise DataError(f"{source} has another taxonomy than the model")
    inputs, notes = samples.inputs, samples.notes
    nodes = LabelReader(taxonomy).read(samples.labels, source=source, row_name=samples.row_name, inner=True)
    labels = label_indices(nodes, taxonomy)
    if samples.split is None:
        by_hash = hash_split(inputs.split_keys())
        if data_fingerprint(taxonomy, inputs, labels, by_hash) in trained_on:
            chosen = by_hash == "test"
            note = f"{source} is what the model was trained on: only its {chosen.sum()} test rows are used."
            return _chosen(
                inputs, labels, chosen, *notes, note, *inner_label_notes(labels[chosen], taxonomy, source=source)
            )
        everything = f"{source} has no split: all {len(labels)} rows are used."
        return TestSamples(inputs, labels, (*notes, everything, *inner_label_notes(labels, taxonomy, source=source)))
    split = checked_split(samples.split, source=source, row_name=samples.row_name)
    if "test" not in split:
        raise DataError(f"{source}: no row belongs to the split 'test'; expected test rows, or no splits at all")
    tested = split == "test"
    return _chosen(inputs, labels, tested, *notes, *inner_label_notes(labels[tested], taxonomy, source=source))


def _chosen(inputs: Inputs, labels: IntArray, chosen: NDArray[np.bool_], *notes: str) -> TestSamples:
    rows = np.flatnonzero(chosen)
    return TestSamples(inputs.take(rows), labels[rows], notes)
