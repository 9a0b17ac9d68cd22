"""Inputs from Python objects: texts, paths of images, Pillow images, arrays, and tables of columns."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from os import PathLike
from typing import Any

from scipy.sparse import issparse

from hiercos.data.columns import ColumnKinds, column_inputs, table_cells
from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import check_on_error, pillow
from hiercos.data.inputs import Inputs, Kind, SparseVectors, Texts, Vectors, check_inputs
from hiercos.data.rows import PATH_COLUMN, TEXT_COLUMN, InputBatch, Source, SourceOptions
from hiercos.errors import DataError


def python_rows(inputs: Any, kind: Kind, *, on_error: str = "fail", columns: ColumnKinds | None = None) -> Source:
    """Python objects as inputs of a kind, in batches; an iterator is read batch by batch, and only once.

    See `as_inputs`, which it calls unless the inputs are `Inputs` already, or none: then there are no batches.

    Args:
        inputs: Python objects.
        kind: kind of the inputs.
        on_error: "fail" to raise for empty texts, "skip" to leave them out.
        columns: kind of each column, for the kind "columns".
    """
    check_on_error(on_error)
    if isinstance(inputs, Iterator):
        return Source("inputs", kind, lambda size: _read(inputs, kind, size, on_error, columns))
    if not _is_single(inputs) and not (inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)):
        return Source("inputs", kind, lambda _: iter(()), 0)
    skips = on_error == "skip" and kind == "texts"
    given = inputs if isinstance(inputs, Inputs) else as_inputs(inputs, kind, check=not skips, columns=columns)
    source = Source.of(given)
    return source.checked(SourceOptions(on_error="skip")) if skips else source


def _read(
    items: Iterator[Any], kind: Kind, size: int, on_error: str, columns: ColumnKinds | None
) -> Iterator[InputBatch]:
    first = 0
    while batch := list(islice(items, size)):
        for rows in python_rows(batch, kind, on_error=on_error, columns=columns).read(size):
            yield replace(rows, numbers=[first + number for number in rows.numbers])
        first += len(batch)


def as_inputs(inputs: Any, kind: Kind, *, check: bool = True, columns: ColumnKinds | None = None) -> Inputs:
    """Inputs of a kind from Python objects; a single text, image or row of columns counts as a list of one.

    Of a DataFrame, the column `text` or `path` is taken, for vectors all columns, and the `columns` of that kind, which
    may also be a dict of sequences, or dicts with the cells of each row. A check finds what can be found without
    decoding.
    """
    if kind == "columns":
        found = column_inputs(table_cells(inputs), columns or {})
        check_inputs(found, source="inputs")
        return found
    if getattr(inputs, "columns", None) is not None:
        inputs = inputs.to_numpy() if kind == "vectors" else _column(inputs, kind)
    if kind == "vectors":
        try:
            vectors = SparseVectors(inputs) if issparse(inputs) else Vectors(inputs)
        except (TypeError, ValueError) as error:
            raise DataError(f"inputs: expected vectors, shape (samples, features) ({error})") from error
        check_inputs(vectors, source="inputs")
        return vectors
    items = [inputs] if _is_single(inputs) else list(inputs)
    expected = (str,) if kind == "texts" else (str, PathLike, pillow().Image)
    for row, item in enumerate(items, 1):
        if not isinstance(item, expected):
            wanted = "a text" if kind == "texts" else "a path or a Pillow image"
            raise DataError(f"inputs: row {row}: expected {wanted}, got {type(item).__name__}")
    given: Inputs = Texts(items) if kind == "texts" else ImageFiles(items)
    if check:
        check_inputs(given, source="inputs")
    return given


def _column(table: Any, kind: Kind) -> Any:
    """Column of texts or of paths in a DataFrame."""
    name = TEXT_COLUMN if kind == "texts" else PATH_COLUMN
    if name not in list(table.columns):
        raise DataError(f"inputs: expected a column {name!r}, got {', '.join(map(str, table.columns))}")
    return table[name]


def _is_single(inputs: Any) -> bool:
    return isinstance(inputs, str | PathLike) or not hasattr(inputs, "__iter__")
