"""A labelled data set as a frozen value, checked when it is created, with notes on what cannot be learned from it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from hiercos.data.inputs import Inputs, Kind, check_inputs, read_only
from hiercos.data.splits import NEEDED, SPLITS, Purpose, TextArray, calibration_rows
from hiercos.errors import DataError, listed
from hiercos.taxonomy import IntArray, Taxonomy, nodes_of_labels

MOST_SHOWN = 5  # names in a note
ROWS_AT_ONCE = 65536  # rows compared with the first one at a time


@dataclass(frozen=True)
class FeatureOrigin:
    """Origin of features that `hiercos embed` computed: the backbone and the raw data.

    Attributes:
        backbone: identity of the backbone as JSON values: name, options, preprocessing and hash of the weights.
        fingerprint: `Dataset.fingerprint` of the images or texts; "" if unknown.
    """

    backbone: Mapping[str, Any]
    fingerprint: str = ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their labels and splits.

    Args:
        name: name of the data set in tables and reports.
        taxonomy: taxonomy whose leaves are the classes.
        inputs: M texts, vectors or images.
        labels: class index y < C of each sample, C + node for an inner node, or C + N for the root, shape (M,); the
            root for a sample with several labels.
        split: "train", "val" or "test" for each sample, shape (M,).
        notes: sentences for the user about decisions made while reading.
        source: name of the data in messages: a built-in name or a file.
        origin: origin of vectors that a backbone computed; None for other data.
        label_sets: nodes of the labels of each sample, shape (M, K), -1 for none; None if every sample has one label.
        purpose: purpose of the data: "compare" needs samples of all splits, "train" no test samples, and "extend", for
            a model that is trained already, neither val nor test samples nor more than one training label.

    Raises:
        DataError: for different lengths, a label out of range, an empty text, a value that is NaN or infinite,
            an empty split, or training samples with one label.
    """

    name: str
    taxonomy: Taxonomy
    inputs: Inputs
    labels: IntArray
    split: TextArray
    notes: tuple[str, ...] = ()
    source: str = ""
    origin: FeatureOrigin | None = None
    label_sets: IntArray | None = None
    purpose: Purpose = "compare"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", read_only(np.asarray(self.labels, dtype=np.int64)))
        object.__setattr__(self, "split", read_only(np.asarray(self.split, dtype=np.str_)))
        object.__setattr__(self, "source", self.source or self.name)
        self._check_lengths()
        check_inputs(self.inputs, source=self.source)
        self._check_classes()

    def _check_lengths(self) -> None:
        count = len(self.inputs)
        if self.labels.shape != (count,) or self.split.shape != (count,):
            raise DataError(
                f"{self.source}: expected a label and a split for each of the {count} samples, "
                f"got labels of shape {self.labels.shape} and splits of shape {self.split.shape}"
            )

        if self.label_sets is not None and len(self.label_sets) != count:
            raise DataError(f"{self.source}: expected {count} sets of labels, got {len(self.label_sets)}")

    def _check_classes(self) -> None:
        last = self.taxonomy.num_classes + self.taxonomy.num_nodes  # the root
        faults = [
            f"{self.source}: expected labels from 0 to {last}, got {label}"
            for label in np.unique(self.labels)
            if not 0 <= label <= last
        ]
        *first, last_needed = NEEDED[self.purpose]
        expected = f"{', '.join(first)} and {last_needed}" if first else last_needed
        faults += [
            f"{self.source}: no row belongs to the split {split!r}; expected rows of {expected}"
            for split in NEEDED[self.purpose]
            if split not in self.split
        ]
        trained = np.unique(self.labels[self.rows("train")])
        if len(trained) == 1 and self.purpose != "extend" and not faults and self.label_sets is None:
            node = int(nodes_of_labels(trained, self.taxonomy)[0])
            name = "the root" if node < 0 else repr(self.taxonomy.path_text(node))
            faults.append(f"{self.source}: every training sample has the label {name}; expected at least two labels")
        if faults:
            raise DataError(faults)

    @property
    def kind(self) -> Kind:
        """Kind of the inputs."""
        return self.inputs.kind

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(self.rows(split))}" for split in SPLITS)
        return f"Dataset({self.name!r}, {len(self)} {self.kind} ({sizes}), {self.taxonomy!r})"

    def take(self, rows: IntArray) -> Self:
        """The data set of some rows, in this order, with their labels, sets of labels and splits."""
        sets = None if self.label_sets is None else self.label_sets[rows]
        inputs, labels, split = self.inputs.take(rows), self.labels[rows], self.split[rows]
        return replace(self, inputs=inputs, labels=labels, split=split, label_sets=sets)

    def rows(self, split: str) -> IntArray:
        """Row indices of a split in order, shape (M_split,)."""
        return np.flatnonzero(self.split == split)

    @property
    def training_rows(self) -> IntArray:
        """Row indices of the training split without samples labelled with the root, which carry no information."""
        root = self.taxonomy.num_classes + self.taxonomy.num_nodes
        known = self.labels != root if self.label_sets is None else (self.label_sets >= 0).any(axis=1)
        return np.flatnonzero((self.split == "train") & known)

    def run_rows(self, part: str) -> IntArray:
        """Row indices for a part of a run, shape (M_part,).

        Args:
            part: "train" or "test"; "val" without the rows that calibrate back-off; "calibration", those rows.
        """
        if part not in ("val", "calibration"):
            return self.rows(part)
        return self._val_parts[part == "calibration"]

    @cached_property
    def _val_parts(self) -> tuple[IntArray, IntArray]:
        """Row indices of val that training may use, and of those that calibrate back-off."""
        rows = self.rows("val")
        aside = calibration_rows(self.inputs.take(rows).split_keys())
        return rows[~aside], rows[aside]

    @cached_property
    def fingerprint(self) -> str:
        """`data_fingerprint` of the data set, which does not depend on its name or path."""
        return data_fingerprint(self.taxonomy, self.inputs, self.labels, self.split, self.label_sets)


def data_fingerprint(
    taxonomy: Taxonomy, inputs: Inputs, labels: IntArray, split: TextArray, label_sets: IntArray | None = None
) -> str:
    """SHA-256 of taxonomy, inputs (M), labels (M,), split (M,) and sets of labels (M, K), the same on every machine.

    Images are hashed by the `digests` of their contents.
    """
    digest = hashlib.sha256(inputs.kind.encode() + taxonomy.fingerprint.encode())
    digest.update((labels if label_sets is None else label_sets).astype("<i8").tobytes())
    digest.update("\x00".join(split).encode())
    for part in inputs.fingerprint_parts():
        digest.update(part)
    return digest.hexdigest()


def degenerate_notes(dataset: Dataset) -> tuple[str, ...]:
    """Sentences about classes without training samples and features that never vary in training: how many, which.

    Args:
        dataset: data set of any kind; features are compared for vectors only.
    """
    train, taxonomy = dataset.rows("train"), dataset.taxonomy
    counts = np.bincount(dataset.labels[train], minlength=taxonomy.num_classes)[: taxonomy.num_classes]
    notes = []
    if len(missing := np.flatnonzero(counts == 0)):
        names = (repr(taxonomy.path_text(int(taxonomy.leaves[label]))) for label in missing)
        notes.append(
            f"{dataset.source}: {len(missing):,} of {taxonomy.num_classes:,} classes have no training samples: "
            f"{listed(names, MOST_SHOWN)}."
        )
    if dataset.kind == "vectors" and len(constant := _constant_columns(np.asarray(dataset.inputs), train)):
        notes.append(
            f"{dataset.source}: {len(constant):,} features never vary in training, columns "
            f"{listed(map(str, constant), MOST_SHOWN)} (counted from 0)."
        )
    return tuple(notes)


def _constant_columns(features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Columns of features (M, F) that have one value in all of these rows."""
    same = np.ones(features.shape[1], dtype=bool)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        same &= (features[rows[start : start + ROWS_AT_ONCE]] == features[rows[0]]).all(axis=0)
    return np.flatnonzero(same)
