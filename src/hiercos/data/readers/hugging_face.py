"""Data sets of Hugging Face: a folder that `save_to_disk` wrote, or `hf:NAME` of the hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.data.images.collections import EncodedImages, file_content
from hiercos.data.inputs import Inputs, Kind, Texts
from hiercos.data.readers.registry import Reader
from hiercos.data.readers.table import cell_text
from hiercos.data.rows import LABEL_COLUMN, SPLIT_COLUMN, TEXT_COLUMN, InputBatch, Source, SourceOptions, in_batches
from hiercos.data.splits import OTHER_NAMES, SPLITS, folded
from hiercos.errors import DataError, row_name, suggestion

PREFIX = "hf:"


class SavedReader(Reader):
    """A folder that `save_to_disk` wrote."""

    def takes(self, source: str) -> bool:
        """A folder with the files that `save_to_disk` writes."""
        files = {
            name: (Path(source) / name).is_file() for name in ("dataset_dict.json", "state.json", "dataset_info.json")
        }
        return files.pop("dataset_dict.json") or all(files.values())

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:  # noqa: ARG002
        """Rows of all splits; see `HubReader`."""
        library = _library(source)
        try:
            loaded = library.load_from_disk(source)
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"{source}: the saved data set cannot be read ({_first_line(error)})") from error
        return _rows(source, loaded, options)


class HubReader(Reader):
    """A data set of the Hugging Face Hub: `hf:NAME`, or one configuration of it, `hf:NAME:CONFIGURATION`."""

    prefix = PREFIX

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:  # noqa: ARG002
        """Rows of all splits; images stay encoded until they are opened.

        The library downloads data that are not in its cache, with a progress bar.

        Raises:
            DataError: without the library, if the hub cannot be reached or has no such data set, for a missing column,
                or a cell that is not text.
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
        return _rows(source, loaded, options)


def _library(source: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise DataError(f"{source}: data sets of Hugging Face need datasets: pip install 'hiercos[hf]'") from error
    return datasets


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@dataclass(frozen=True)
class _Parts:
    """All splits of a data set, one below the other."""

    table: Any  # the `datasets.Dataset`
    names: Sequence[str]  # name of each row in messages
    split: Sequence[str] | None = None  # split of each row; None if the data set has no splits
    notes: tuple[str, ...] = ()  # sentences about splits that were left out


def _rows(source: str, loaded: Any, options: SourceOptions) -> Source:
    if isinstance(loaded, Mapping):
        parts = _joined(source, loaded)
    else:
        parts = _Parts(loaded, [row_name(row) for row in range(len(loaded))])
    features = parts.table.features
    column, is_image = _input_column(source, features, options)
    labels = _texts(source, parts, options.label_column or LABEL_COLUMN)
    split = parts.split
    if split is None and (options.split_column != SPLIT_COLUMN or SPLIT_COLUMN in features):
        split = _texts(source, parts, options.split_column)
    inputs: Inputs
    if is_image:
        encoded = parts.table.select_columns([column]).cast_column(column, _library(source).Image(decode=False))
        inputs = EncodedImages(_ImageColumn(encoded, column), [f"{source}, {row}" for row in parts.names])
    else:
        inputs = Texts(_texts(source, parts, column))
    rows = InputBatch(range(1, len(inputs) + 1), inputs, labels=labels, split=split)
    return Source(
        source,
        inputs.kind,
        in_batches(rows),
        notes=parts.notes,
        row_name=lambda number: parts.names[number - 1],
    )


def _joined(source: str, parts: Mapping[str, Any]) -> _Parts:
    """The splits train, val and test, also under other usual names; further splits are left out."""
    named = {name: OTHER_NAMES.get(folded(name), folded(name)) for name in parts}
    others = [name for name, split in named.items() if split not in SPLITS]
    kept = [(split, parts[name]) for name, split in named.items() if split in SPLITS]
    if not kept:
        raise DataError(f"{source}: expected the splits train, val and test, got {', '.join(parts)}")
    split = [split for split, part in kept for _ in range(len(part))]
    names = [f"{split} {row_name(row)}" for split, part in kept for row in range(len(part))]
    notes = (f"{source}: the splits {', '.join(others)} are left out.",) if others else ()
    return _Parts(_library(source).concatenate_datasets([part for _, part in kept]), names, split, notes)


def _input_column(source: str, features: Mapping[str, Any], options: SourceOptions) -> tuple[str, bool]:
    """The column of inputs, and whether they are images: the user's choice, else the images, else the texts."""
    image_type = _library(source).Image
    pictures = [name for name, feature in features.items() if isinstance(feature, image_type)]
    column = options.input_column or (pictures[0] if len(pictures) == 1 else TEXT_COLUMN)
    if column not in features:
        raise DataError(f"{source}: expected a column {column!r}{suggestion(column, list(features))}")
    return column, column in pictures


def _texts(source: str, parts: _Parts, column: str) -> tuple[str, ...]:
    """A column as text, classes by their names; a DataError for any other type."""
    feature = parts.table.features.get(column)
    if feature is None:
        raise DataError(f"{source}: expected a column {column!r}{suggestion(column, list(parts.table.features))}")
    cells = list(parts.table[column])
    names = getattr(feature, "names", None)  # class names of a ClassLabel, whose cells are numbers
    if names is not None:
        return tuple(names[cell] if cell is not None and 0 <= cell < len(names) else "" for cell in cells)
    texts = [cell_text(cell) for cell in cells]
    if None in texts:
        place = parts.names[texts.index(None)]
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
