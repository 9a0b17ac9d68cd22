"""Data sets of Hugging Face: a folder that `save_to_disk` wrote, or `hf:NAME` of the hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.data.images.collections import EncodedImages, file_content
from hiercos.data.inputs import Texts
from hiercos.data.readers.table import usable_texts
from hiercos.data.readers.table_files import cell_text
from hiercos.data.samples import SPLIT_COLUMN, TEXT_COLUMN, SourceOptions, SourceSamples, with_usable_images
from hiercos.data.splits import OTHER_NAMES, SPLITS, folded
from hiercos.errors import DataError, row_name, suggestion

PREFIX = "hf:"


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` wrote this folder."""
    return (folder / "dataset_dict.json").is_file() or (
        (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()
    )


def read_saved(folder: Path, options: SourceOptions) -> SourceSamples:
    """Samples of a folder that `save_to_disk` wrote; see `read_hub`."""
    library = _library(str(folder))
    try:
        loaded = library.load_from_disk(str(folder))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder}: the saved data set cannot be read ({_first_line(error)})") from error
    return _samples(str(folder), loaded, options)


def read_hub(source: str, options: SourceOptions) -> SourceSamples:
    """Samples of `hf:NAME`, or of one configuration, `hf:NAME:CONFIGURATION`.

    The library downloads data that are not in its cache, with a progress bar. Images stay encoded until opened.

    Raises:
        DataError: without the library, if the hub cannot be reached or has no such data set, for a missing column, a
            cell that is not text, or images that cannot be decoded.
    """
    library = _library(source)
    name, _, configuration = source.removeprefix(PREFIX).partition(":")
    try:
        loaded = library.load_dataset(name, configuration or None)
    except ConnectionError as error:
        raise DataError(
            f"{source}: the Hugging Face Hub cannot be reached and {name!r} is not in the local cache; expected a "
            "connection, or a folder that save_to_disk wrote on a machine that has one"
        ) from error
    except (library.exceptions.DatasetsError, OSError, ValueError) as error:
        raise DataError(f"{source}: the data set cannot be loaded ({_first_line(error)})") from error
    return _samples(source, loaded, options)


def _library(source: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise DataError(f"{source}: data sets of Hugging Face need datasets: pip install 'hiercos[hf]'") from error
    return datasets


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@dataclass(frozen=True)
class _Rows:
    """All splits of a data set, one below the other.

    Attributes:
        table: the `datasets.Dataset`.
        names: name of each row in messages.
        split: split of each row; None if the data set has no splits.
        notes: sentences about splits that were left out.
    """

    table: Any
    names: Sequence[str]
    split: Sequence[str] | None = None
    notes: tuple[str, ...] = ()


def _samples(source: str, loaded: Any, options: SourceOptions) -> SourceSamples:
    library = _library(source)
    rows = (
        _joined(source, loaded)
        if isinstance(loaded, Mapping)
        else _Rows(loaded, [row_name(row) for row in range(len(loaded))])
    )
    column, is_image = _input_column(source, rows.table.features, options)
    labels = _texts(source, rows, options.label_column)
    split, name = rows.split, rows.names.__getitem__
    if split is None and (options.split_column != SPLIT_COLUMN or SPLIT_COLUMN in rows.table.features):
        split = _texts(source, rows, options.split_column)
    if not is_image:
        samples = SourceSamples(Texts(_texts(source, rows, column)), labels, split, name, rows.notes)
        if not len(samples.inputs):
            raise DataError(f"{source}: expected at least one sample, got none")
        return usable_texts(samples, source, options.on_error)
    encoded = rows.table.select_columns([column]).cast_column(column, library.Image(decode=False))
    images = EncodedImages(_ImageColumn(encoded, column), [f"{source}, {row}" for row in rows.names])
    samples = SourceSamples(images, labels, split, name, rows.notes)
    return with_usable_images(samples, source=source, options=options)


def _joined(source: str, parts: Mapping[str, Any]) -> _Rows:
    """The splits train, val and test, also under other usual names; further splits are left out."""
    named = {name: OTHER_NAMES.get(folded(name), folded(name)) for name in parts}
    others = [name for name, split in named.items() if split not in SPLITS]
    kept = [(split, parts[name]) for name, split in named.items() if split in SPLITS]
    if not kept:
        raise DataError(f"{source}: expected the splits train, val and test, got {', '.join(parts)}")
    split = [split for split, part in kept for _ in range(len(part))]
    names = [f"{split} {row_name(row)}" for split, part in kept for row in range(len(part))]
    notes = (f"{source}: the splits {', '.join(others)} are left out.",) if others else ()
    return _Rows(_library(source).concatenate_datasets([part for _, part in kept]), names, split, notes)


def _input_column(source: str, features: Mapping[str, Any], options: SourceOptions) -> tuple[str, bool]:
    """The column of inputs, and whether they are images: the user's choice, else the images, else the texts."""
    image_type = _library(source).Image
    pictures = [name for name, feature in features.items() if isinstance(feature, image_type)]
    column = options.text_column or options.path_column or (pictures[0] if len(pictures) == 1 else TEXT_COLUMN)
    if options.path_column and column not in pictures:
        raise DataError(f"{source}: expected a column of images {column!r}{suggestion(column, pictures)}")
    if column not in features:
        raise DataError(f"{source}: expected a column {column!r}{suggestion(column, list(features))}")
    return column, column in pictures


def _texts(source: str, rows: _Rows, column: str) -> tuple[str, ...]:
    """A column as text, classes by their names; a DataError for any other type."""
    feature = rows.table.features.get(column)
    if feature is None:
        raise DataError(f"{source}: expected a column {column!r}{suggestion(column, list(rows.table.features))}")
    cells = list(rows.table[column])
    names = getattr(feature, "names", None)  # class names of a ClassLabel, whose cells are numbers
    if names is not None:
        return tuple(names[cell] if cell is not None and 0 <= cell < len(names) else "" for cell in cells)
    texts = [cell_text(cell) for cell in cells]
    if None in texts:
        place = rows.names[texts.index(None)]
        raise DataError(f"{source}: {place}: {column!r}: expected text or an integer, got {feature}")
    return tuple(text or "" for text in texts)


class _ImageColumn:
    """Encoded images of a column, each read from the table on access."""

    def __init__(self, table: Any, column: str) -> None:
        self._table = table
        self._column = column

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, row: int) -> bytes:
        cell = self._table[row][self._column] or {}
        if cell.get("bytes") is None and cell.get("path"):
            return file_content(cell["path"])
        return cell.get("bytes") or b""
