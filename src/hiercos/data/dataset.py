"""A labelled data set as a frozen value, checked when it is made."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiercos.data.images.collections import Images
from hiercos.data.splits import SPLITS, TextArray
from hiercos.errors import DataError, RowName, row_name
from hiercos.taxonomy import IntArray, Taxonomy

FloatArray = NDArray[np.float32]
Kind = Literal["vectors", "texts", "images"]
Inputs = FloatArray | tuple[str, ...] | Images
Array = TypeVar("Array", bound=NDArray[np.generic])


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their labels and splits.

    Args:
        name: what tables and reports call it.
        taxonomy: the tree whose leaves are the classes.
        inputs: vectors, shape (M, F), or M texts or images.
        labels: class index y < C of each sample, or C + node for an inner node, shape (M,); inner nodes are still
            refused.
        split: "train", "val" or "test" for each sample, shape (M,).
        notes: sentences about what was decided while reading, for the user to see.
        source: what messages call it: a built-in name or a file.

    Raises:
        DataError: for different lengths, a label out of range, an empty text, a value that is NaN or infinite,
            an empty split, or training samples of fewer than two classes.
    """

    name: str
    taxonomy: Taxonomy
    inputs: Inputs
    labels: IntArray
    split: TextArray
    notes: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.inputs, np.ndarray):
            object.__setattr__(self, "inputs", _frozen(np.asarray(self.inputs, dtype=np.float32)))
        elif not isinstance(self.inputs, Images):
            object.__setattr__(self, "inputs", tuple(self.inputs))
        object.__setattr__(self, "labels", _frozen(np.asarray(self.labels, dtype=np.int64)))
        object.__setattr__(self, "split", _frozen(np.asarray(self.split, dtype=np.str_)))
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

    def _check_classes(self) -> None:
        last = self.taxonomy.num_classes - 1
        faults = [
            f"{self.source}: expected labels from 0 to {last}, got {label}"
            for label in np.unique(self.labels)
            if not 0 <= label <= last
        ]
        faults += [
            f"{self.source}: no row belongs to the split {split!r}; expected rows of train, val and test"
            for split in SPLITS
            if split not in self.split
        ]
        trained = np.unique(self.labels[self.rows("train")])
        if len(trained) == 1:
            name = self.taxonomy.path_text(int(self.taxonomy.leaves[trained[0]]))
            faults.append(
                f"{self.source}: every training sample is of the class {name!r}; expected at least two classes"
            )
        if faults:
            raise DataError(faults)

    @property
    def kind(self) -> Kind:
        """What the inputs are."""
        return kind_of(self.inputs)

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{split} {len(self.rows(split))}" for split in SPLITS)
        return f"Dataset({self.name!r}, {len(self)} {self.kind} ({sizes}), {self.taxonomy!r})"

    def rows(self, split: str) -> IntArray:
        """The samples of a split in order, shape (M_split,)."""
        return np.flatnonzero(self.split == split)

    @cached_property
    def fingerprint(self) -> str:
        """The `data_fingerprint` of it all: the same for every name or path."""
        return data_fingerprint(self.taxonomy, self.inputs, self.labels, self.split)


def kind_of(inputs: Inputs) -> Kind:
    """What inputs are."""
    if isinstance(inputs, Images):
        return "images"
    return "vectors" if isinstance(inputs, np.ndarray) else "texts"


def taken(inputs: Inputs, rows: IntArray) -> Inputs:
    """The inputs at these rows, shape (M_rows,), of the same kind."""
    if isinstance(inputs, Images):
        return inputs.take(rows)
    return inputs[rows] if isinstance(inputs, np.ndarray) else tuple(inputs[row] for row in rows)


def data_fingerprint(taxonomy: Taxonomy, inputs: Inputs, labels: IntArray, split: TextArray) -> str:
    """A SHA-256 of taxonomy, inputs (M), labels (M,) and split (M,), the same on every machine.

    Images count by their content, of which only the `digests` are kept.
    """
    digest = hashlib.sha256(kind_of(inputs).encode() + taxonomy.fingerprint.encode())
    digest.update(labels.astype("<i8").tobytes())
    digest.update("\x00".join(split).encode())
    if isinstance(inputs, np.ndarray):
        digest.update(repr(inputs.shape).encode() + inputs.astype("<f4").tobytes())
    elif isinstance(inputs, Images):
        digest.update(inputs.digests.tobytes())
    else:
        for text in inputs:
            content = text.encode("utf-8", "surrogatepass")
            digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def check_inputs(inputs: Inputs, *, source: str, row_name: RowName = row_name) -> None:
    """Raise a DataError that names every empty text, or every vector with a value that is not finite.

    Images are checked by `usable_rows`, which must decode them all.
    """
    faults = []
    if isinstance(inputs, np.ndarray):
        faults = _vector_faults(inputs)
    elif not isinstance(inputs, Images):
        faults = [f"{row_name(row)}: the text is empty" for row, text in enumerate(inputs) if not text.strip()]
    if not len(inputs):
        faults = ["expected at least one sample, got none"]
    if faults:
        raise DataError(f"{source}: {fault}" for fault in faults)


def _vector_faults(vectors: FloatArray) -> list[str]:
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        return [f"expected vectors of shape (samples, features), got {vectors.shape}"]
    return [_row_fault(vectors, int(row)) for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1))]


def _row_fault(vectors: FloatArray, row: int) -> str:
    """A sentence about the first value of a row that is not finite."""
    column = int(np.argmin(np.isfinite(vectors[row])))
    place = f"row {row + 1}, column {column + 1} (features[{row}, {column}])"
    return f"{place}: expected a finite number, got {vectors[row, column]}"


def _frozen(array: Array) -> Array:
    view = array.view()  # not a copy: vectors may fill most of the memory
    view.setflags(write=False)
    return view
