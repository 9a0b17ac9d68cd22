"""Folders of images: nested folders are the taxonomy, and the innermost ones are the classes.

Folders `train`, `val` and `test` at the top are splits. Hidden files and files of file managers are ignored; a
note counts all other files that are not images.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import ClassVar, NoReturn

from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES
from hiercos.data.inputs import Kind
from hiercos.data.readers.registry import Reader
from hiercos.data.rows import InputBatch, Source, SourceOptions, in_batches
from hiercos.data.splits import OTHER_NAMES, SPLITS, folded
from hiercos.errors import MOST_NAMES, DataError, listed
from hiercos.taxonomy import PATH_SEPARATOR

SYSTEM_FILES = ("thumbs.db", "desktop.ini", "__macosx")  # written by Windows and macOS
MOST_KINDS = 5  # extensions of other files shown in a note

Parts = tuple[str, ...]


class ImageReader(Reader):
    """A single image, for prediction."""

    suffixes = SUFFIXES
    labelled = False
    kinds: ClassVar[tuple[Kind, ...]] = ("images",)

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:  # noqa: ARG002
        """The image as the only row."""
        return Source(source, "images", in_batches(InputBatch([1], ImageFiles([source]))))


class FolderReader(Reader):
    """A folder of images, labelled by its subfolders."""

    kinds: ClassVar[tuple[Kind, ...]] = ("images",)

    def takes(self, source: str) -> bool:
        """Any folder."""
        return Path(source).is_dir()

    def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:  # noqa: ARG002
        """Every image below the folder, sorted by path, labelled by the path of its folder.

        Raises:
            DataError: see `image_tree`; with labels, for images outside the innermost folders, and splits beside other
                folders.
        """
        folder = Path(source)
        tree = image_tree(folder)
        images, notes = ImageFiles([folder / image for image in tree.images]), _other_files(folder, tree)
        rows = InputBatch(range(1, len(images) + 1), images)
        if options.is_labelled:
            splits = _splits(folder, tree.images)
            parts = [image.parts[bool(splits) : -1] for image in tree.images]
            _check_places(folder, tree.images, parts)
            labels = [PATH_SEPARATOR.join(part) for part in parts]
            split = [splits[image.parts[0]] for image in tree.images] if splits else None
            rows, notes = replace(rows, labels=labels, split=split), notes + _empty_folders(folder, tree)
        return Source(
            source,
            "images",
            in_batches(rows),
            notes=notes,
            row_name=lambda number: str(tree.images[number - 1]),
            path_form="folders within folders",
        )


@dataclass(frozen=True)
class ImageTree:
    """Images and other files below a folder."""

    images: tuple[PurePath, ...]  # paths of the image files relative to the folder, sorted
    others: Counter[str]  # number of other files by extension
    empty: tuple[PurePath, ...]  # paths of the innermost folders without an image, relative to the folder


def image_tree(folder: Path) -> ImageTree:
    """Find every image below a folder by its extension.

    Raises:
        DataError: for a folder that cannot be read, a link to a folder that contains it, or no images.
    """
    images: list[PurePath] = []
    others: Counter[str] = Counter()
    empty: list[PurePath] = []
    for place, folders, files in os.walk(folder, followlinks=True, onerror=_refuse):
        here = PurePath(place).relative_to(folder)
        folders[:] = sorted(name for name in folders if _counts(name))
        _check_links(Path(place), folders)
        found = [here / name for name in files if _counts(name)]
        pictures = [file for file in found if file.suffix.lower() in SUFFIXES]
        others.update(file.suffix.lower() for file in found if file.suffix.lower() not in SUFFIXES)
        images += pictures
        if not pictures and not folders:
            empty.append(here)
    if not images:
        raise DataError(f"{folder}: expected images ({', '.join(SUFFIXES)}), got {others.total()} other files")
    return ImageTree(tuple(sorted(images)), others, tuple(sorted(empty)))


def _counts(name: str) -> bool:
    return not name.startswith(".") and name.lower() not in SYSTEM_FILES


def _refuse(error: OSError) -> NoReturn:
    raise DataError(f"{error.filename}: the folder cannot be read ({error.strerror})") from error


def _check_links(place: Path, folders: Sequence[str]) -> None:
    """Raise a DataError for a link to a folder that contains it, where walking would never end."""
    for link in (place / name for name in folders if (place / name).is_symlink()):
        if place.resolve().is_relative_to(link.resolve()):
            raise DataError(f"{link}: the link leads to a folder that contains it")


def _other_files(folder: Path, tree: ImageTree) -> tuple[str, ...]:
    """A note about the files that are not images, if there are any."""
    if not tree.others:
        return ()
    kinds = (f"{count:,} {kind or 'without an extension'}" for kind, count in tree.others.most_common())
    shown = listed(kinds, MOST_KINDS)
    return (f"{folder}: files that are not images are left out: {shown} ({tree.others.total():,} in all).",)


def _empty_folders(folder: Path, tree: ImageTree) -> tuple[str, ...]:
    """A note about the folders that are not classes because they have no images, if there are any."""
    if not tree.empty:
        return ()
    shown = listed(map(str, tree.empty), MOST_NAMES)
    return (f"{folder}: folders without images are not classes: {shown} ({len(tree.empty):,} in all).",)


def _splits(folder: Path, images: Sequence[PurePath]) -> dict[str, str]:
    """Split of each folder at the top; empty if they are classes.

    A folder `train` among others may be a class of vehicles; with `test` or `val` beside it, it is a split.
    """
    top = sorted({image.parts[0] for image in images if len(image.parts) > 1})
    splits = {name: split for name in top if (split := OTHER_NAMES.get(folded(name), folded(name))) in SPLITS}
    others = [name for name in top if name not in splits]
    if others and len(set(splits.values())) > 1:
        raise DataError(
            f"{folder}: expected only splits beside {' and '.join(splits)}, got the folder {name!r}" for name in others
        )
    return {} if others else splits


def _check_places(folder: Path, images: Sequence[PurePath], parts: Sequence[Parts]) -> None:
    """Raise a DataError for every folder that has images and is not an innermost folder in every split."""
    inside = {part[:end]: part[end] for part in parts for end in range(len(part))}  # a folder within each inner one
    misplaced = [row for row, part in enumerate(parts) if not part or part in inside]
    counts = Counter(images[row].parent for row in misplaced)
    first = {images[row].parent: row for row in reversed(misplaced)}
    if misplaced:
        raise DataError(
            f"{folder / place}: expected images in the innermost folders only, which are the classes, "
            f"got {counts[place]:,} (such as {images[row].name!r}) "
            + (f"beside the folder {inside[parts[row]]!r}" if parts[row] in inside else "in no folder")
            for place, row in sorted(first.items())
        )
