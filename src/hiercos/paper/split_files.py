"""Class and split of each image in published splits: lists or folders."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hiercos.data import SPLITS
from hiercos.errors import DataError

LIST_SUFFIX = ".txt"


class SplitEntry(NamedTuple):
    """One image of a split."""

    split: str  # split of the image: train, val or test
    label: str  # name of its class in the split
    file: str  # name of the image within its class, or its path
    where: str  # file and row of the entry, for messages


def listed_split(place: Path) -> list[SplitEntry]:
    """Entries of a published split in order.

    Args:
        place: folder with `train`, `val` and `test`, each with a file CLASS.txt for every class that has one image name
            per line.
    """
    entries = list(_list_entries(place))
    _check_distinct(entries, place)
    return entries


def foldered_split(folder: Path) -> list[SplitEntry]:
    """Images in the folders `train/CLASS`, `val/CLASS` and `test/CLASS`, sorted; hidden files are ignored."""
    entries = [
        SplitEntry(split, label.name, str(image), str(image))
        for split in SPLITS
        for label in _visible(folder / split)
        if label.is_dir()
        for image in _visible(label)
        if image.is_file()
    ]
    if not entries:
        raise DataError(f"{folder}: expected images in train/CLASS, val/CLASS and test/CLASS, got none")
    return entries


def is_foldered(folder: Path) -> bool:
    """Whether the folder has subfolders for all three splits."""
    return all((folder / split).is_dir() for split in SPLITS)


def missing_files(paths: Sequence[Path]) -> list[Path]:
    """Files that do not exist; each folder is listed once, which is faster than a check of every file."""
    names: dict[Path, set[str]] = defaultdict(set)
    for folder in {path.parent for path in paths}:
        if folder.is_dir():
            names[folder] = {entry.name for entry in folder.iterdir()}
    return [path for path in paths if path.name not in names[path.parent]]


def _visible(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _list_entries(folder: Path) -> Iterator[SplitEntry]:
    if not is_foldered(folder):
        raise DataError(
            f"{folder}: expected the folders train, val and test with a list CLASS{LIST_SUFFIX} for each class"
        )
    for split in SPLITS:
        for file in _visible(folder / split):
            if file.suffix == LIST_SUFFIX:
                yield from _class_entries(split, file)


def _class_entries(split: str, file: Path) -> Iterator[SplitEntry]:
    """Images of one class, one per line; blank lines are skipped."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            yield SplitEntry(split, file.stem, line.strip(), f"{file}: row {number}")


def _check_distinct(entries: Iterable[SplitEntry], place: Path) -> None:
    """Raise a DataError for every image that is listed twice, because it could be in train and in test."""
    first: dict[tuple[str, str], SplitEntry] = {}
    faults = [
        f"{entry.where}: {entry.file!r} is already listed in {earlier.where}"
        for entry in entries
        if (earlier := first.setdefault((entry.label, entry.file), entry)) is not entry
    ]
    if not first:
        faults = [f"{place}: expected images, got none"]
    if faults:
        raise DataError(faults)


def json_value(file: Path) -> Any:
    """Value of a JSON file; a DataError gives the line and the column of a fault."""
    try:
        return json.loads(file.read_bytes())
    except json.JSONDecodeError as error:
        raise DataError(f"{file}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{file}: expected JSON in UTF-8, but {error}") from error
