"""Columns to vectors: n-grams of texts, one-hot categories, standardized numbers, and vectors, side by side.

Each column is a block of features, or several: what a block needs to know it learns from the training rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiercos.data import (
    CATEGORY,
    COLUMN_KINDS,
    IMAGE,
    NUMBER,
    TEXT,
    VECTOR,
    ColumnInputs,
    Float32Array,
    checked_kinds,
    shown_cell,
)
from hiercos.encoders.tfidf import WORDS, TextFeatures
from hiercos.errors import DataError, reading

LEAST_OF_CATEGORY, MOST_CATEGORIES = 2, 10_000  # training rows of a category of its own, and such categories
KNOTS = 16  # quantiles between which a number is interpolated
MAPPED_KNOTS = 256  # quantiles that the numbers of a heavy-tailed column are mapped by
HEAVY_TAIL = 6.0  # spread of 98% of the numbers over that of half of them; 3.4 of normal ones, 4.2 of exponential ones
MOST_DENSE = 1024  # features up to which columns without texts are dense
USUAL_SCALES = {"categories": 0.5, "numbers": 0.25}  # beside texts, unless held-out rows tell
ALL_TEXTS, CATEGORIES, NUMBERS, SENTENCES = "all texts", "categories", "numbers", "sentence vectors"

Embedded = Mapping[str, Float32Array]  # features of a backbone, shape (M, F), rows of nan for missing inputs, by column
Share = tuple[int, str, float]  # a feature, and a part of the row with its share of it


class Block(Protocol):
    """Features of a column, or of several."""

    kind: ClassVar[str]  # its name in `BLOCKS`

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""

    @property
    def unit(self) -> str:
        """Name of what it is weighed with."""

    @property
    def width(self) -> int:
        """Number of features."""

    def transform(self, inputs: ColumnInputs, embedded: Embedded) -> sp.csr_matrix:
        """Features of M rows, shape (M, width)."""

    def shares(self, row: ColumnInputs) -> Iterator[Share]:
        """The parts of one row, such as words, that each feature belongs to."""

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON values and arrays that `from_state` takes."""


@dataclass(frozen=True, eq=False)
class TextBlock:
    """N-grams of a column of texts, or of several together."""

    kind: ClassVar[str] = TEXT
    columns: tuple[str, ...]
    features: TextFeatures

    @property
    def unit(self) -> str:
        """See `Block`."""
        return self.columns[0] if len(self.columns) == 1 else ALL_TEXTS

    @property
    def width(self) -> int:
        """See `Block`."""
        return self.features.width

    def transform(self, inputs: ColumnInputs, embedded: Embedded) -> sp.csr_matrix:  # noqa: ARG002
        """See `Block`."""
        return self.features.transform(joined_texts(inputs, self.columns))

    def shares(self, row: ColumnInputs) -> Iterator[Share]:
        """See `Block`."""
        for name in self.columns:
            words, shares = self.features.words(row.cells[name][0])
            found = shares.tocoo()
            for feature, place, share in zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True):
                yield feature, f"{name}: {words[place]}", share

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """See `Block`."""
        values, arrays = self.features.state()
        return {"columns": list(self.columns), **values}, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TextBlock:
        """The block from its `state`."""
        return cls(tuple(values["columns"]), TextFeatures.from_state(values, arrays))


@dataclass(frozen=True, eq=False)
class CategoryBlock:
    """One feature for each frequent category, then one for any other and one for a missing cell."""

    kind: ClassVar[str] = CATEGORY
    unit: ClassVar[str] = CATEGORIES
    columns: tuple[str]
    categories: tuple[str, ...]

    @classmethod
    def fit(cls, name: str, inputs: ColumnInputs) -> CategoryBlock:
        """Learn the categories of training rows."""
        counts = Counter(cell.strip() for cell in inputs.cells[name] if cell.strip())
        frequent = [cell for cell, count in counts.most_common(MOST_CATEGORIES) if count >= LEAST_OF_CATEGORY]
        return cls((name,), tuple(sorted(frequent)))

    @property
    def width(self) -> int:
        """See `Block`."""
        return len(self.categories) + 2

    @cached_property
    def places(self) -> dict[str, int]:
        """Feature of each category."""
        return {cell: place for place, cell in enumerate(self.categories)} | {"": len(self.categories) + 1}

    def transform(self, inputs: ColumnInputs, embedded: Embedded) -> sp.csr_matrix:  # noqa: ARG002
        """See `Block`."""
        cells = inputs.cells[self.columns[0]]
        places = [self.places.get(cell.strip(), len(self.categories)) for cell in cells]
        ones = np.ones(len(cells), np.float32)
        return sp.csr_matrix((ones, places, np.arange(len(cells) + 1)), shape=(len(cells), self.width))

    def shares(self, row: ColumnInputs) -> Iterator[Share]:
        """See `Block`."""
        yield from _of_cell(self, row)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """See `Block`."""
        return {"columns": list(self.columns), "categories": list(self.categories)}, {}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> CategoryBlock:  # noqa: ARG003
        """The block from its `state`."""
        (name,) = values["columns"]
        if not all(isinstance(cell, str) for cell in values["categories"]):
            raise DataError("categories: expected texts")
        return cls((name,), tuple(values["categories"]))


@dataclass(frozen=True, eq=False)
class NumberBlock:
    """A number standardized, its place between quantiles, and whether it is missing.

    The numbers of a heavy-tailed column are mapped by their quantiles to those of a normal distribution. Between two
    quantiles, `knots`, a number has a share of both, so that a linear model may rise and fall with it.
    """

    kind: ClassVar[str] = NUMBER
    unit: ClassVar[str] = NUMBERS
    columns: tuple[str]
    given: NDArray[np.float64]  # numbers, increasing, shape (K,)
    mapped: NDArray[np.float64]  # standardized value of each, shape (K,); beyond them as between the last two
    knots: NDArray[np.float64]  # standardized values, increasing, shape (Q,)

    @classmethod
    def fit(cls, name: str, inputs: ColumnInputs) -> NumberBlock:
        """Learn the scale of training rows."""
        from scipy.special import ndtri

        numbers = np.sort(inputs.cells[name][~inputs.missing(name)])
        if not len(numbers):
            return cls((name,), np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.zeros(1))
        least, low, high, most = np.quantile(numbers, [0.01, 0.25, 0.75, 0.99])
        mean, deviation = numbers.mean(), numbers.std() or 1.0
        given, mapped = np.array([mean, mean + deviation]), np.array([0.0, 1.0])
        if most - least > HEAVY_TAIL * (high - low) and len(values := np.unique(numbers)) > 2:
            given = values[np.unique(np.linspace(0, len(values) - 1, MAPPED_KNOTS).astype(int))]
            given = np.unique(np.concatenate([given, np.quantile(numbers, np.linspace(0, 1, MAPPED_KNOTS))]))
            places = (np.searchsorted(numbers, given, "left") + np.searchsorted(numbers, given, "right")) / 2
            mapped = ndtri((places + 0.5) / (len(numbers) + 1))
        block = cls((name,), given, mapped, np.zeros(1))
        return replace(block, knots=np.unique(block.standardized(np.quantile(numbers, np.linspace(0, 1, KNOTS)))))

    @property
    def width(self) -> int:
        """See `Block`."""
        return len(self.knots) + 2

    def standardized(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standardized numbers, shape (M,); one of a heavy-tailed column is between those of the training rows."""
        if len(self.given) > 2:
            return np.interp(numbers, self.given, self.mapped)
        first, second = self.given
        found: NDArray[np.float64] = (numbers - first) / (second - first)
        return found

    def transform(self, inputs: ColumnInputs, embedded: Embedded) -> sp.csr_matrix:  # noqa: ARG002
        """See `Block`."""
        missing = inputs.missing(self.columns[0])
        values = self.standardized(np.where(missing, self.given[0], inputs.cells[self.columns[0]]))
        table = np.zeros((len(values), self.width), np.float32)
        table[:, 0] = values
        table[:, 1:-1] = np.array([np.interp(values, self.knots, one) for one in np.eye(len(self.knots))]).T
        table[missing] = 0
        table[:, -1] = missing
        return sp.csr_matrix(table)

    def shares(self, row: ColumnInputs) -> Iterator[Share]:
        """See `Block`."""
        yield from _of_cell(self, row)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """See `Block`."""
        return {"columns": list(self.columns)}, {"given": self.given, "mapped": self.mapped, "knots": self.knots}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> NumberBlock:
        """The block from its `state`."""
        (name,), parts = values["columns"], [_finite(arrays[part], 1) for part in ("given", "mapped", "knots")]
        if len(parts[0]) != len(parts[1]) or len(parts[0]) < 2 or any((np.diff(part) <= 0).any() for part in parts):
            raise DataError(f"{name}: expected increasing numbers")
        return cls((name,), *parts)


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """Vectors less their mean, of length 1 on average, and whether one is missing."""

    kind: ClassVar[str] = VECTOR
    columns: tuple[str]  # column of vectors or images, or `SENTENCES`
    mean: Float32Array  # (F,)
    length: Float32Array  # (1,) of the vectors less their mean, on average

    @property
    def unit(self) -> str:
        """See `Block`."""
        return self.columns[0]

    @classmethod
    def fit(cls, name: str, vectors: Float32Array) -> VectorBlock:
        """Learn mean and length of training rows, shape (M, F)."""
        known = vectors[~np.isnan(vectors).any(axis=1)]
        mean = known.mean(axis=0) if len(known) else np.zeros(vectors.shape[1], np.float32)
        length = np.sqrt(np.square(known - mean).sum(axis=1).mean()) if len(known) else 0.0
        return cls((name,), mean.astype(np.float32), np.array([length or 1.0], np.float32))

    @property
    def width(self) -> int:
        """See `Block`."""
        return len(self.mean) + 1

    def transform(self, inputs: ColumnInputs, embedded: Embedded) -> sp.csr_matrix:
        """See `Block`."""
        name = self.columns[0]
        vectors = embedded[name] if name in embedded else inputs.cells[name]
        if not vectors.shape[1]:  # all are missing
            vectors = np.full((len(vectors), len(self.mean)), np.nan, np.float32)
        if vectors.shape[1] != len(self.mean):
            raise DataError(f"{name!r}: expected vectors of {len(self.mean)} numbers, got {vectors.shape[1]}")
        missing = np.isnan(vectors).any(axis=1, keepdims=True)
        found = np.where(missing, np.float32(0), (vectors - self.mean) / self.length)
        return sp.csr_matrix(np.hstack([found, missing]).astype(np.float32))

    def given(self, features: NDArray[Any]) -> Float32Array:
        """Vectors from their features, shape (M, width), rows of nan for missing ones."""
        vectors = features[:, :-1] * self.length + self.mean
        return np.where(features[:, -1:] > 0, np.float32(np.nan), vectors).astype(np.float32)

    def shares(self, row: ColumnInputs) -> Iterator[Share]:  # noqa: ARG002  # the same for all rows
        """See `Block`."""
        return ((feature, self.columns[0], 1.0) for feature in range(self.width))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """See `Block`."""
        return {"columns": list(self.columns)}, {"mean": self.mean, "length": self.length}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> VectorBlock:
        """The block from its `state`."""
        (name,), mean, length = values["columns"], _finite(arrays["mean"], 1), _finite(arrays["length"], 1)
        if length.shape != (1,) or not length[0] > 0:
            raise DataError(f"{name}: expected a length above 0")
        return cls((name,), mean, length)


def usual_scale(unit: str) -> float:
    """Factor of a unit of blocks that was not weighed."""
    return USUAL_SCALES.get(unit, 1.0)


BLOCKS: dict[str, Any] = {block.kind: block for block in (TextBlock, CategoryBlock, NumberBlock, VectorBlock)}


def _of_cell(block: CategoryBlock | NumberBlock, row: ColumnInputs) -> Iterator[Share]:
    """All features of a block as those of the cell of one row, such as "price: 9.5"."""
    name = block.columns[0]
    cell = "missing" if row.missing(name)[0] else shown_cell(row.cells[name][0])
    return ((feature, f"{name}: {cell}", 1.0) for feature in range(block.width))


def _finite(array: NDArray[Any], dimensions: int) -> NDArray[Any]:
    if array.ndim != dimensions or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise DataError(f"expected finite numbers of {dimensions} dimension, got {array.dtype} of shape {array.shape}")
    return array


def joined_texts(inputs: ColumnInputs, columns: Sequence[str]) -> list[str]:
    """The texts of columns of each row, as one text."""
    return [" ".join(cells) for cells in zip(*(inputs.cells[name] for name in columns), strict=True)]


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """A fitted map from rows of columns to vectors.

    Args:
        columns: kind of each column, those of roles included.
        blocks: features of the columns, which follow each other.
        scales: factor of each `unit` of blocks, the usual one for those that are not named.
    """

    columns: Mapping[str, str]
    blocks: tuple[Block, ...]
    scales: Mapping[str, float]

    @classmethod
    def fit(cls, inputs: ColumnInputs, embedded: Embedded, scales: Mapping[str, float] | None = None) -> ColumnFeatures:
        """Learn the blocks from training rows.

        Args:
            inputs: M rows.
            embedded: features of a backbone, by column of images or for `SENTENCES`.
            scales: factor of each unit, see the class; a block of the factor 0 is left out.
        """
        texts = tuple(inputs.of_kind(TEXT))
        blocks: list[Block] = [
            TextBlock((name,), TextFeatures.fit([cell for cell in inputs.cells[name] if cell.strip()]))
            for name in texts
        ]
        if len(texts) > 1:
            blocks.append(TextBlock(texts, TextFeatures.fit(joined_texts(inputs, texts), [WORDS])))
        blocks += [CategoryBlock.fit(name, inputs) for name in inputs.of_kind(CATEGORY)]
        blocks += [NumberBlock.fit(name, inputs) for name in inputs.of_kind(NUMBER)]
        blocks += [VectorBlock.fit(name, inputs.cells[name]) for name in inputs.of_kind(VECTOR)]
        blocks += [VectorBlock.fit(name, vectors) for name, vectors in embedded.items()]
        known = dict(scales or {})
        return cls(
            dict(inputs.kinds), tuple(block for block in blocks if known.get(block.unit, 1) and block.width), known
        )

    @property
    def width(self) -> int:
        """Number of features V."""
        return sum(block.width for block in self.blocks)

    @property
    def is_dense(self) -> bool:
        """Whether the features are dense: few of them, and no n-grams."""
        return self.width <= MOST_DENSE and not any(isinstance(block, TextBlock) for block in self.blocks)

    def scale(self, unit: str) -> float:
        """Factor of a unit of blocks."""
        return self.scales.get(unit, usual_scale(unit))

    @property
    def factors(self) -> NDArray[np.float32]:
        """Factor of each feature, shape (V,)."""
        return np.concatenate([np.full(block.width, self.scale(block.unit), np.float32) for block in self.blocks])

    def slices(self) -> Iterator[tuple[Block, slice]]:
        """Each block with its features."""
        start = 0
        for block in self.blocks:
            yield block, slice(start, start + block.width)
            start += block.width

    def transform(self, inputs: ColumnInputs, embedded: Embedded | None = None) -> sp.csr_matrix:
        """Vectors of rows, shape (M, V), float32."""
        parts = [block.transform(inputs, embedded or {}) for block in self.blocks]
        matrix = sp.csr_matrix(sp.hstack(parts), dtype=np.float32)
        matrix.data *= self.factors[matrix.indices]
        return matrix

    def embedded(self, features: Any) -> dict[str, Float32Array]:
        """Features of a backbone by column again, from the vectors (M, V) of rows."""
        found = {}
        for block, columns in self.slices():
            if isinstance(block, VectorBlock) and self.columns.get(block.unit) != VECTOR:
                part = features[:, columns]
                part = part.toarray() if sp.issparse(part) else np.asarray(part)
                found[block.unit] = block.given(part / np.float32(self.scale(block.unit)))
        return found

    def words(self, row: ColumnInputs) -> tuple[list[str], sp.csr_matrix]:
        """Words and cells of one row by column, and the share of each feature that belongs to each, shape (V, K)."""
        shares = [
            (columns.start + place, *rest) for block, columns in self.slices() for place, *rest in block.shares(row)
        ]
        parts = {part: place for place, part in enumerate(dict.fromkeys(part for _, part, _ in shares))}
        places = [feature for feature, _, _ in shares], [parts[part] for _, part, _ in shares]
        table = sp.csr_matrix(([share for *_, share in shares], places), shape=(self.width, len(parts)))
        totals = np.asarray(table.sum(axis=1)).ravel()  # an n-gram of several columns is shared by them
        table.data /= np.repeat(np.where(totals > 0, totals, 1), np.diff(table.indptr))
        return list(parts), table

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON values and arrays that `from_state` takes."""
        values: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for place, block in enumerate(self.blocks):
            own, tensors = block.state()
            values.append({"kind": block.kind, **own})
            arrays |= {f"{place}.{name}": array for name, array in tensors.items()}
        return {"columns": dict(self.columns), "blocks": values, "scales": dict(self.scales)}, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ColumnFeatures:
        """The map from its `state`; a DataError for values that are not one."""
        with reading("expected columns with their features", DataError):
            columns = checked_kinds({str(name): kind for name, kind in values["columns"].items()}, "columns")
            if unknown := [kind for kind in columns.values() if kind not in COLUMN_KINDS]:
                raise DataError(f"columns: expected one of {', '.join(COLUMN_KINDS)}, got {unknown[0]!r}")
            blocks = []
            for place, own in enumerate(values["blocks"]):
                head = f"{place}."
                tensors = {name.removeprefix(head): each for name, each in arrays.items() if name.startswith(head)}
                blocks.append(BLOCKS[own["kind"]].from_state(own, tensors))
            if unknown := [name for block in blocks for name in block.columns if name not in (*columns, SENTENCES)]:
                raise DataError(f"blocks: there is no column {unknown[0]!r}")
            scales = {str(unit): float(scale) for unit, scale in values["scales"].items()}
            if not np.isfinite([*scales.values()]).all():
                raise DataError("scales: expected finite numbers")
        return cls(columns, tuple(blocks), scales)


AnyTextFeatures: TypeAlias = TextFeatures | ColumnFeatures


def features_from_state(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> AnyTextFeatures:
    """Features of texts or of columns from their `state`."""
    kind: Any = ColumnFeatures if "columns" in values else TextFeatures
    found: AnyTextFeatures = kind.from_state(values, arrays)
    return found


def embedded_columns(inputs: ColumnInputs, kind: str) -> dict[str, tuple[NDArray[np.int64], Any]]:
    """Rows and inputs for a backbone of images or texts, by column, or for all texts as `SENTENCES`."""
    from hiercos.data import Texts

    if kind == "images":
        there = {name: np.flatnonzero(~inputs.missing(name)) for name in inputs.of_kind(IMAGE)}
        return {name: (rows, inputs.images(name, rows)) for name, rows in there.items()}
    texts = joined_texts(inputs, inputs.of_kind(TEXT))
    rows = np.flatnonzero([bool(text.strip()) for text in texts])
    return {SENTENCES: (rows, Texts([texts[row] for row in rows]))}
