"""Labelled samples in tables: a column of texts or paths to images, one of labels and, if there is one, of splits."""

from collections.abc import Collection
from pathlib import Path

from hiercos.data.images.collections import ImageFiles
from hiercos.data.inputs import Texts, check_inputs
from hiercos.data.readers.table import read_table
from hiercos.data.readers.table_files import column_names
from hiercos.data.samples import (
    PATH_COLUMN,
    SPLIT_COLUMN,
    TEXT_COLUMN,
    SourceOptions,
    SourceSamples,
    with_usable_images,
)
from hiercos.errors import DataError, RowName, suggestion


def read_table_samples(path: Path, options: SourceOptions) -> SourceSamples:
    """The rows of a table.

    Raises:
        DataError: for a missing column, an empty text or path, or (unless `options.on_error` is "skip") images that
            cannot be decoded.
    """
    column, is_text = input_column(options, column_names(path), source=str(path))
    label, split = options.label_column, options.split_column
    named = (column, label) if split == SPLIT_COLUMN else (column, label, split)  # what the user named must be there
    table = read_table(path, columns=named, optional=(SPLIT_COLUMN,))
    cells, labels, splits = table.columns[column], table.columns[label], table.columns.get(split)
    if is_text:
        texts = Texts(cells)
        check_inputs(texts, source=str(path), row_name=table.row_name)
        return SourceSamples(texts, labels, splits, table.row_name)
    images = listed_images(cells, path, options.root, table.row_name)
    samples = SourceSamples(images, labels, splits, table.row_name)
    return with_usable_images(samples, source=str(path), options=options, row_name=table.row_name)


def input_column(options: SourceOptions, names: Collection[str], *, source: str) -> tuple[str, bool]:
    """The column of inputs, and whether they are texts: what the user named, or what is there by the default name.

    Raises:
        DataError: if the user named both or neither is there, or both are and the user named none.
    """
    text, path = options.text_column, options.path_column
    if text is not None and path is not None:
        raise DataError(f"{source}: expected a column of texts or one of paths to images, got {text!r} and {path!r}")
    if text is not None or path is not None:
        return text or path or "", text is not None
    there = [name for name in (TEXT_COLUMN, PATH_COLUMN) if name in names]
    if len(there) == 2:
        raise DataError(
            f"{source}: there are both columns {TEXT_COLUMN!r} and {PATH_COLUMN!r}: "
            "expected --text-column or --path-column to choose one"
        )
    if not there:
        raise DataError(f"{source}: expected a column {TEXT_COLUMN!r} or {PATH_COLUMN!r}{suggestion('', names)}")
    return there[0], there == [TEXT_COLUMN]


def listed_images(cells: tuple[str, ...], table: Path, root: str | Path | None, row_name: RowName) -> ImageFiles:
    """The images at the paths in a column, which start from the root, or else from the folder of the table."""
    if faults := [f"{table}: {row_name(row)}: the path is empty" for row, cell in enumerate(cells) if not cell.strip()]:
        raise DataError(faults)
    base = table.parent if root is None else Path(root)
    return ImageFiles([base / cell for cell in cells])
