"""Titles of second-hand goods offered in an online shop: 10 > 137 > 993 categories, uneven and long-tailed."""

from collections.abc import Sequence

import numpy as np

from hiercos.data.catalogue import eccd
from hiercos.data.dataset import Dataset
from hiercos.data.inputs import Texts
from hiercos.data.splits import TextArray, folded, hash_split
from hiercos.taxonomy import IntArray, Taxonomy

FILE = "mercari/mercari.parquet"
SEPARATOR = "/"  # between the levels of a category


def listings() -> Dataset:
    """Every title with a category; rare categories stay, since a long tail is what real taxonomies have.

    Six categories are 4 or 5 levels deep. The split is by hash of the title, so equal titles are in the same one.

    Raises:
        DataError: without the package that carries them, or pyarrow.
    """
    titles, categories = eccd.read_columns("listings", FILE, ("name", "category_name"))
    rows = [row for row, category in enumerate(categories) if category]
    texts = tuple(titles[row] for row in rows)
    paths = [tuple(categories[row].split(SEPARATOR)) for row in rows]
    classes = sorted(set(paths))
    label = {path: number for number, path in enumerate(classes)}
    labels = np.array([label[path] for path in paths])
    split = hash_split(folded(text) for text in texts)
    return Dataset(
        name="listings",
        taxonomy=Taxonomy.from_paths(classes),
        inputs=Texts(texts),
        labels=labels,
        split=split,
        notes=_notes(categories, labels, split, len(classes)),
    )


def _notes(categories: Sequence[str | None], labels: IntArray, split: TextArray, classes: int) -> tuple[str, str]:
    """What was left out, and how long the tail is that was not."""
    missing = len(categories) - len(labels)
    counts = np.bincount(labels, minlength=classes)
    untrained = np.bincount(labels[split == "train"], minlength=classes) == 0
    return (
        f"listings: {missing:,} of {len(categories):,} titles have no category and are left out.",
        f"listings: {(counts < 10).sum():,} of {classes:,} classes have fewer than 10 titles and {untrained.sum():,} "
        "none to train on; all stay.",
    )
