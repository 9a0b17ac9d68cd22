"""iNaturalist-19: 268,243 photographs of 1,010 species, kingdom > phylum > class > order > family > genus > name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.data import SPLITS, BuiltIn, Dataset, Download, ImageFiles, TextArray, hash_fraction
from hiercos.errors import DataError
from hiercos.paper.download import fetch
from hiercos.paper.split_files import (
    SplitEntry,
    foldered_split,
    is_foldered,
    json_value,
    listed_split,
    missing_files,
)
from hiercos.taxonomy import IntArray, Taxonomy

FOLDER = "inaturalist19"
CATEGORIES = "categories.json"
ANNOTATIONS = ("train2019.json", "val2019.json")
IMAGES = "train_val2019"
LISTS = "splits_inat19"  # as Making Better Mistakes publishes its split
RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "name")
FRACTIONS = (0.7, 0.15, 0.15)  # shares of train, val and test in the paper
LabelledEntries = list[tuple[SplitEntry, int]]  # entry of a split, and its class
SERVER = "https://ml-inat-competition-datasets.s3.amazonaws.com/2019"
DOWNLOADS = (
    Download(f"{SERVER}/categories.json.tar.gz", 40_000, "", FOLDER, (CATEGORIES,)),
    Download(
        f"{SERVER}/val2019.json.tar.gz", 156_000, "md5:5cc5509b0fe495f1c8c1362612448497", FOLDER, (ANNOTATIONS[1],)
    ),
    Download(
        f"{SERVER}/train2019.json.tar.gz", 13_000_000, "md5:b06a6683537867c0d5c7a45f407a306d", FOLDER, (ANNOTATIONS[0],)
    ),
    Download(
        f"{SERVER}/train_val2019.tar.gz", 74_000_000_000, "md5:c60a6e2962c9b8ccbd458d12c8582644", FOLDER, (IMAGES,)
    ),
)
LAYOUT = (
    f"{FOLDER}/ with {CATEGORIES}, {ANNOTATIONS[0]}, {ANNOTATIONS[1]} and {IMAGES}/ as published "
    "(https://github.com/visipedia/inat_comp/tree/master/2019), and the paper's split if you have it, "
    "splits_inat19/train/nat0000.txt and so on; "
    f"or {FOLDER}/ with {CATEGORIES} and the images in train/nat0000, val/nat0000, test/nat0000 and so on"
)


def inaturalist19(root: Path) -> Dataset:
    """iNaturalist-19 with the tree of its category file.

    Classes are the categories in the order of their ids. The split is that of the folders or of the lists if there are
    any, and otherwise by hash of the file names: 70% train, 15% val and 15% test images of each class.

    Args:
        root: folder that contains `inaturalist19`, or that folder itself.
    """
    folder = _found(root)
    if folder is None:
        raise DataError(f"inaturalist19 is not in {root}: expected {LAYOUT}")
    labels, taxonomy = _classes(folder)
    samples, notes = _in_folders(folder, labels) if is_foldered(folder) else _annotated(folder, labels)
    return Dataset(
        name="inaturalist19",
        taxonomy=taxonomy,
        inputs=ImageFiles([entry.file for entry, _ in samples]),
        nodes=taxonomy.leaves[[label for _, label in samples]],
        split=np.array([entry.split for entry, _ in samples]),
        notes=notes,
        source=str(folder),
    )


def _found(root: Path) -> Path | None:
    for folder in (root / FOLDER, root):
        annotated = (folder / IMAGES).is_dir() and all((folder / name).is_file() for name in ANNOTATIONS)
        if annotated or ((folder / CATEGORIES).is_file() and is_foldered(folder)):
            return folder
    return None


def _classes(folder: Path) -> tuple[dict[int, int], Taxonomy]:
    """Class of each category id, and the taxonomy; without a category file, the names are obfuscated."""
    file = folder / (CATEGORIES if (folder / CATEGORIES).is_file() else ANNOTATIONS[0])
    value = json_value(file)
    categories: Any = value.get("categories") if isinstance(value, dict) else value
    try:
        ordered = sorted(categories, key=lambda category: int(category["id"]))
        taxonomy = Taxonomy.from_paths([category[rank] for rank in RANKS] for category in ordered)
    except (KeyError, TypeError) as error:
        raise DataError(f"{file}: expected categories with an id and {', '.join(RANKS)} ({error})") from error
    return {category["id"]: label for label, category in enumerate(ordered)}, taxonomy


def _in_folders(folder: Path, labels: Mapping[int, int]) -> tuple[LabelledEntries, tuple[str, ...]]:
    """Samples in the folders of their splits."""
    return _with_labels(foldered_split(folder), labels), ()


def _annotated(folder: Path, labels: Mapping[int, int]) -> tuple[LabelledEntries, tuple[str, ...]]:
    """Samples of the annotation files, in the split of the lists or in one by hash."""
    category_of = {path: category for name in ANNOTATIONS for path, category in _annotations(folder / name).items()}
    if not (folder / LISTS).is_dir():
        samples = _split_here(folder, category_of, labels)
        note = "the paper's split is missing: 70% train, 15% val and 15% test of each class were chosen by hash."
    else:
        samples, note = _split_by_lists(folder, category_of, labels)
    if missing := missing_files([Path(entry.file) for entry, _ in samples]):
        raise DataError(f"{path}: the annotations name this image, but it is not there" for path in missing)
    return samples, (f"{folder}: {note}",) if note else ()


def _annotations(file: Path) -> dict[str, int]:
    """Category of each image by its path below the folder."""
    value = json_value(file)
    try:
        path_of = {image["id"]: image["file_name"] for image in value["images"]}
        return {path_of[entry["image_id"]]: entry["category_id"] for entry in value["annotations"]}
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{file}: expected images with id and file_name, and annotations with image_id and category_id; "
            f"the first without one lacks {error}"
        ) from error


def _split_here(folder: Path, category_of: Mapping[str, int], labels: Mapping[int, int]) -> LabelledEntries:
    entries = [SplitEntry("", str(category), str(folder / path), path) for path, category in category_of.items()]
    samples = _with_labels(entries, labels)
    split = split_within_classes([entry.where for entry, _ in samples], np.array([label for _, label in samples]))
    return [(entry._replace(split=str(part)), label) for (entry, label), part in zip(samples, split, strict=True)]


def split_within_classes(keys: Sequence[str], labels: IntArray, fractions: Sequence[float] = FRACTIONS) -> TextArray:
    """Split of each sample, shape (M,): the samples of each class are ordered by hash and cut.

    So every class has its exact share of every split (rounded down for train and val), unlike in `hash_split`.

    Args:
        labels: class of each sample, shape (M,).
    """
    hashes = np.array([hash_fraction(key) for key in keys])
    order = np.lexsort((hashes, labels))  # by class, then by hash
    split = np.empty(len(keys), dtype="<U5")
    for rows in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        ends = np.floor(np.cumsum([0, *fractions[:2]]) * len(rows) + 1e-9).astype(int)
        for name, start, end in zip(SPLITS, ends, [*ends[1:], len(rows)], strict=True):
            split[rows[start:end]] = name
    return split


def _split_by_lists(
    folder: Path, category_of: Mapping[str, int], labels: Mapping[int, int]
) -> tuple[LabelledEntries, str]:
    """Listed images, found by their names, and a note about images in no list."""
    path_of = {path.rpartition("/")[2]: path for path in category_of}
    entries = listed_split(folder / LISTS)
    faults = [
        f"{entry.where}: the annotations have no image {entry.file!r}" for entry in entries if entry.file not in path_of
    ]
    if faults:
        raise DataError(faults)
    samples = _with_labels([entry._replace(file=path_of[entry.file]) for entry in entries], labels)
    left = len(category_of) - len(entries)
    note = f"{left:,} of {len(category_of):,} images are in no list of {LISTS} and left out." if left else ""
    return [(entry._replace(file=str(folder / entry.file)), label) for entry, label in samples], note


def _with_labels(entries: Sequence[SplitEntry], labels: Mapping[int, int]) -> LabelledEntries:
    """Each entry with its class, found by the category id in its label: 42 or nat0042."""
    samples = []
    unknown: dict[str, str] = {}
    for entry in entries:
        digits = entry.label.removeprefix("nat")
        category = int(digits) if digits.isdecimal() else -1
        if category in labels:
            samples.append((entry, labels[category]))
        else:
            unknown.setdefault(entry.label, entry.where)
    if unknown:
        raise DataError(f"{where}: there is no category {label!r}" for label, where in unknown.items())
    return samples


INATURALIST19 = BuiltIn(
    description="268,243 photographs of animals, plants and fungi: "
    "kingdoms 3 > phyla 4 > classes 9 > orders 34 > families 57 > genera 72 > species 1,010",
    origin="the iNaturalist 2019 competition of FGVC6; for research and teaching, not for commerce",
    where=LAYOUT,
    found=_found,
    read=inaturalist19,
    classes=1010,
    levels=7,
    downloads=DOWNLOADS,
    fetch=fetch,
)
