"""A labelled data set as a frozen value, checked when it is created, with notes on what cannot be learned from it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hiercos.data.inputs import Inputs, Kind, check_inputs, read_only
from hiercos.data.splits import (
    CALIBRATION,
    CALIBRATION_SHARE,
    LEAST_CALIBRATION,
    NEEDED,
    SPLITS,
    TEST_SHARE,
    VAL_SHARE,
    Key,
    Purpose,
    TextArray,
    completed_split,
)
from hiercos.errors import DataError, listed
from hiercos.taxonomy import AnyArray, Floats, IntArray, Taxonomy, label_indices

LEARNED = ("train", "val")  # splits whose labels are learned from
MOST_SHOWN = 5  # names in a note
COMPARED_ROWS = 65536  # rows compared with the first one at a time


@dataclass(frozen=True)
class FeatureOrigin:
    """Origin of features that `hiercos embed` computed: the backbone and the raw data."""

    # identity of the backbone as JSON values: name, options, preprocessing and hash of the weights
    backbone: Mapping[str, Any]
    fingerprint: str = ""  # `Dataset.fingerprint` of the images or texts; "" if unknown


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their labels and splits.

    Args:
        name: name of the data set in tables and reports.
        taxonomy: taxonomy whose leaves are the classes.
        inputs: M texts, vectors or images.
        nodes: node of each sample's label, -1 for the root, shape (M,); `taxonomy.leaves[classes]` for class indices.
            A sample with several labels has the root.
        split: "train", "val" or "test" for each sample, shape (M,), see `completed`; "" for data without a split.
        notes: sentences for the user about decisions made while reading.
        source: name of the data in messages: a built-in name or a file.
        origin: origin of vectors that a backbone computed; None for other data.
        label_sets: nodes of the labels of each sample, shape (M, K), -1 for none; None if every sample has one label.
        weights: weight of each sample in training, shape (M,), above 0; None for equal weights.
        candidates: nodes of which each sample has one, shape (M, K), -1 for none; None if every label is known. The
            node of a sample with several is at or above them all.
        groups: name of the group of each sample, shape (M,), which no split or fold divides; None without groups.
        times: time of each sample, shape (M,): a split that is chosen trains on the past; None to choose it by hash.
        numbers: row of each sample in its file as messages count it, shape (M,); None for data that are not read from
            rows.
        purpose: purpose of the data: "compare" needs test samples, "train" none, and "extend", for a model that is
            trained already, no more than one training label; "test" needs test samples alone.

    Raises:
        DataError: for different lengths, a node out of range, an empty text, a value that is NaN or infinite,
            an empty split, or training samples with one label.
    """

    name: str
    taxonomy: Taxonomy
    inputs: Inputs
    nodes: IntArray
    split: TextArray
    notes: tuple[str, ...] = ()
    source: str = ""
    origin: FeatureOrigin | None = None
    label_sets: IntArray | None = None
    purpose: Purpose = "compare"
    weights: Floats | None = None
    candidates: IntArray | None = None
    groups: AnyArray | None = None
    times: Floats | None = None
    numbers: IntArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", read_only(np.asarray(self.nodes, dtype=np.int64)))
        object.__setattr__(self, "split", read_only(np.asarray(self.split, dtype=np.str_)))
        object.__setattr__(self, "source", self.source or self.name)
        self._check_lengths()
        check_inputs(self.inputs, source=self.source)
        self._check_classes()

    def _check_lengths(self) -> None:
        count = len(self.inputs)
        if self.nodes.shape != (count,) or self.split.shape != (count,):
            raise DataError(
                f"{self.source}: expected a node and a split for each of the {count} samples, "
                f"got nodes of shape {self.nodes.shape} and splits of shape {self.split.shape}"
            )

        if self.label_sets is not None and len(self.label_sets) != count:
            raise DataError(f"{self.source}: expected {count} sets of labels, got {len(self.label_sets)}")

    def _check_classes(self) -> None:
        last = self.taxonomy.num_nodes - 1
        faults = [
            f"{self.source}: expected nodes from -1 (the root) to {last}, got {node}"
            for node in np.unique(self.nodes)
            if not -1 <= node <= last
        ]
        needed = NEEDED[self.purpose]
        faults += [
            f"{self.source}: no row belongs to the split {split!r}; expected rows of {' and '.join(needed)}"
            for split in needed
            if split not in self.split and not self.lacks_split
        ]
        trained = np.unique(self.nodes if self.lacks_split else self.nodes[np.isin(self.split, LEARNED)])
        if len(trained) == 1 and self.purpose != "extend" and not faults and self.label_sets is None:
            name = "the root" if trained[0] < 0 else repr(self.taxonomy.path_text(int(trained[0])))
            faults.append(f"{self.source}: every training sample has the label {name}; expected at least two classes")
        if faults:
            raise DataError(faults)

    @cached_property
    def labels(self) -> IntArray:
        """Label of each sample as losses and metrics take it, see `label_indices`: a class index y < C, or C + node.

        Shape (M,), read-only.
        """
        return read_only(label_indices(self.nodes, self.taxonomy))

    @property
    def is_class(self) -> NDArray[np.bool_]:
        """Mask of the samples whose label is a class, shape (M,)."""
        return self.taxonomy.classes_of(self.nodes) >= 0

    @property
    def kind(self) -> Kind:
        """Kind of the inputs."""
        return self.inputs.kind

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(self.rows(split))}" for split in SPLITS)
        return f"Dataset({self.name!r}, {len(self)} {self.kind} ({sizes}), {self.taxonomy!r})"

    @property
    def lacks_split(self) -> bool:
        """Whether the rows have no split yet."""
        return bool((self.split == "").any())

    def take(self, rows: IntArray) -> Self:
        """The data set of some rows, in this order, with all that belongs to each."""
        optional = ("label_sets", "weights", "candidates", "groups", "times", "numbers")
        changed: dict[str, Any] = {name: each[rows] for name in optional if (each := getattr(self, name)) is not None}
        return replace(self, inputs=self.inputs.take(rows), nodes=self.nodes[rows], split=self.split[rows], **changed)

    def rows(self, split: str) -> IntArray:
        """Row indices of a split in order, shape (M_split,)."""
        return np.flatnonzero(self.split == split)

    @property
    def training_rows(self) -> IntArray:
        """Row indices of the training split without samples labelled with the root, which carry no information."""
        known = self.nodes >= 0 if self.label_sets is None else (self.label_sets >= 0).any(axis=1)
        return np.flatnonzero((self.split == "train") & known)

    @cached_property
    def fingerprint(self) -> str:
        """`data_fingerprint` of the data set, which does not depend on its name or path."""
        return data_fingerprint(self.taxonomy, self.inputs, self.nodes, self.split, self.label_sets)


def completed(dataset: Dataset, *, test: bool = True, targets: bool = False) -> Dataset:
    """The data set with a split for every sample: what its own split leaves open is chosen by hash of the content.

    So the same samples have the same split whatever their order, and whoever asks. Without validation samples of its
    own, a tenth of what is not test is taken, unless that is fewer than 32 samples of a class: then there are none.

    Args:
        dataset: data set with a split, or without any.
        test: whether samples without a split have test samples, too.
        targets: whether samples are set aside for the targets of back-off.
    """
    is_new, known = dataset.lacks_split, np.count_nonzero(dataset.split == "val")
    if not is_new and known and not targets:
        return dataset
    is_class = dataset.is_class
    keys = split_keys(dataset.inputs, dataset.groups)
    others: dict[str, Any] = {"grouped": dataset.groups is not None, "times": dataset.times}
    split = completed_split(keys, dataset.nodes, dataset.split, is_class=is_class, test=test, targets=targets, **others)
    chosen = f"by hash of each {'sample' if dataset.groups is None else 'group'}"
    chosen = chosen if dataset.times is None else f"as the latest{' groups' * (dataset.groups is not None)}"
    notes = []
    if is_new and test:
        _check_rows_of(split, ("train", "test"), dataset.source)
        notes.append(f"{dataset.source} has no split: {TEST_SHARE:.0%} test samples were chosen {chosen}.")
    if not known and "val" in split:
        share = f"{VAL_SHARE:.0%} of the {'other ' * (is_new and test)}samples"
        notes.append(
            f"{dataset.source}: {share} validate, chosen {chosen.removesuffix(' of each sample')}; "
            "the final model learns from them, too."
        )
    if targets:
        aside = np.count_nonzero(split == CALIBRATION)
        of_class = np.count_nonzero(is_class[split == CALIBRATION])
        if of_class < LEAST_CALIBRATION:
            raise DataError(
                f"{dataset.source}: targets: expected at least {LEAST_CALIBRATION} samples labelled with a class to "
                f"set aside, {CALIBRATION_SHARE:.0%} of those that are not test are {of_class}"
            )
        notes.append(f"{dataset.source}: {aside} samples calibrate targets and are not learned from.")
    return replace(dataset, split=split, notes=(*dataset.notes, *notes))


def split_keys(inputs: Inputs, groups: AnyArray | None) -> Sequence[Key]:
    """Key of each sample that decides its split, shape (M,): of its group, or else of its content."""
    return inputs.split_keys() if groups is None else [str(group) for group in groups]


def _check_rows_of(split: TextArray, names: Sequence[str], source: str) -> None:
    """Raise a DataError if one of these splits, chosen by hash, has no rows."""
    if empty := [name for name in names if name not in split]:
        raise DataError(
            f"{source}: the split was made by hash of too few different rows ({len(split)} in all), which left none "
            f"for {' and '.join(empty)}; add a column 'split' (in an .npz, an array) with train, val or test for each "
            "row, or put images into folders of these names"
        )


def data_fingerprint(
    taxonomy: Taxonomy, inputs: Inputs, nodes: IntArray, split: TextArray, label_sets: IntArray | None = None
) -> str:
    """SHA-256 of taxonomy, inputs (M), labels (M,), split (M,) and sets of labels (M, K), the same everywhere.

    Images are hashed by the `digests` of their contents.
    """
    digest = hashlib.sha256(inputs.kind.encode() + taxonomy.fingerprint.encode())
    digest.update((label_indices(nodes, taxonomy) if label_sets is None else label_sets).astype("<i8").tobytes())
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
    notes, labels = [], dataset.nodes if dataset.label_sets is None else dataset.label_sets
    if len(missing := taxonomy.leaves[~np.isin(taxonomy.leaves, labels[train])]):
        names = (repr(taxonomy.path_text(int(node))) for node in missing)
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
    for start in range(0, len(rows), COMPARED_ROWS):
        same &= (features[rows[start : start + COMPARED_ROWS]] == features[rows[0]]).all(axis=0)
    return np.flatnonzero(same)
