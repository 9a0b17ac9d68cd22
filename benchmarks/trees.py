"""The trees that the benchmarks run on."""

import csv
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiercos import Taxonomy, load_taxonomy
from hiercos.data import load_dataset
from hiercos.taxonomy import CATALOGUE

CHAPTER_LEVELS = (4, 51, 221)  # chapters 9, 10, 11 and 13 of ICD-10-CM
INATURALIST_LEVELS = (3, 4, 9, 34, 57, 72, 1010)


def inaturalist_tree() -> tuple[Taxonomy, str]:
    """The iNaturalist-19 tree from the shared folder, or a random one with as many nodes at every level."""
    table = Path(os.environ.get("HIERCOS_SHARED", ""), "hierarchies", "inaturalist19.csv")
    if table.is_file():
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        paths = [[row[f"level_{level}"] for level in range(1, int(row["depth"]) + 1)] for row in rows]
        return Taxonomy.from_paths(paths), "the iNaturalist-19 tree"
    return layered_tree(INATURALIST_LEVELS), "a random tree of iNaturalist-19's shape (HIERCOS_SHARED is not set)"


def tree_called(name: str) -> Taxonomy:
    """A taxonomy of the catalogue or of a built-in data set."""
    return load_taxonomy(name) if name in CATALOGUE else load_dataset(name).taxonomy


def layered_tree(sizes: tuple[int, ...]) -> Taxonomy:
    """A random tree with the given number of nodes at each level; every inner node has a child."""
    generator = np.random.default_rng(0)
    parents = [np.full(sizes[0], -1)]
    start = 0
    for above, size in pairwise(sizes):
        extra = generator.integers(0, above, size - above)
        parents.append(start + np.sort(np.concatenate([np.arange(above), extra])))
        start += above
    count = sum(sizes)
    return Taxonomy.from_arrays([str(node) for node in range(count)], np.concatenate(parents))


def uneven_tree(classes: int) -> Taxonomy:
    """A random tree of height 7 with leaves at several depths."""
    generator = np.random.default_rng(0)
    paths = []
    for number in range(classes):
        branch = generator.integers(0, 6, size=generator.integers(3, 7))
        paths.append((*(f"{depth}-{step}" for depth, step in enumerate(branch)), f"class {number}"))
    return Taxonomy.from_paths(paths)


def shuffled_parents(count: int, depth: int) -> NDArray[np.int64]:
    """Parents of a random tree of the given depth, its nodes numbered at random."""
    generator = np.random.default_rng(0)
    levels = np.sort(np.concatenate([np.arange(depth), generator.integers(0, depth, count - depth)]))
    starts = np.searchsorted(levels, np.arange(depth + 1))
    parents = np.full(count, -1)
    for level in range(1, depth):
        nodes = slice(starts[level], starts[level + 1])
        parents[nodes] = generator.integers(starts[level - 1], starts[level], nodes.stop - nodes.start)
    place = generator.permutation(count)
    shuffled = np.empty(count, dtype=np.int64)
    shuffled[place] = np.where(parents < 0, -1, place[parents])
    return shuffled
