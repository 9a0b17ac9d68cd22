"""Padded levels, for methods with one classifier per level: every class has a column at every level.

A class above the deepest level is repeated at the levels below, so that each level is a partition of all
classes. The levels are concatenated as columns: T columns in all, those of level 1 first.
"""

from dataclasses import dataclass

import numpy as np

from hiercos.taxonomy import IntArray, Taxonomy


@dataclass(frozen=True)
class PaddedLevels:
    """Columns of all padded levels, each level in node order."""

    sizes: tuple[int, ...]  # number of columns of each level, level 1 first
    # parent column, in the level above, of every column below level 1, shape (T - K_1,); the parent of a repeated class
    # is the same class
    parents: IntArray
    node_columns: IntArray  # column of each node at its own level, shape (N,)
    # column of each class's ancestor at each level, shape (C, H); the last one is the class itself
    class_columns: IntArray
    column_nodes: IntArray  # node of each column, shape (T,)
    # column of each label's ancestor at each level, shape (C + N, H): those of the classes, then of all nodes; -1 below
    # an inner node
    label_columns: IntArray

    @property
    def starts(self) -> IntArray:
        """First column of each level, shape (H,)."""
        return np.cumsum((0, *self.sizes[:-1]))


def padded_levels(taxonomy: Taxonomy) -> PaddedLevels:
    """Build the padded levels of a taxonomy; T is N if all classes have the same depth, at most C x H + N.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("car",)])  # nodes pet, car, cat, dog
        >>> levels = padded_levels(t)  # columns pet, car; car, cat, dog
        >>> levels.sizes, levels.parents.tolist(), levels.class_columns.tolist()
        ((2, 3), [1, 0, 0], [[0, 3], [0, 4], [1, 2]])
    """
    ends = np.where(taxonomy.child_counts == 0, taxonomy.height, taxonomy.depths)  # the last level of each node
    paths = taxonomy.path_table(taxonomy.leaves)  # (C, H), -1 beyond the leaf
    paths = np.where(paths < 0, taxonomy.leaves[:, None], paths)
    columns = np.full(taxonomy.num_nodes, -1)  # column of each node at the level above
    node_columns = np.empty(taxonomy.num_nodes, dtype=np.int64)
    class_columns = np.empty_like(paths)
    sizes: list[int] = []
    parents: list[IntArray] = []
    column_nodes: list[IntArray] = []
    for level in range(1, taxonomy.height + 1):
        nodes = np.flatnonzero((taxonomy.depths <= level) & (ends >= level))
        above = np.where(taxonomy.depths[nodes] < level, nodes, taxonomy.parents[nodes])
        parents.append(columns[above])
        columns[nodes] = sum(sizes) + np.arange(len(nodes))
        node_columns[taxonomy.level(level)] = columns[taxonomy.level(level)]
        class_columns[:, level - 1] = columns[paths[:, level - 1]]
        column_nodes.append(nodes)
        sizes.append(len(nodes))
    every = taxonomy.path_table(np.arange(taxonomy.num_nodes))
    of_nodes = np.where(every >= 0, node_columns[every], -1)
    of_nodes[taxonomy.leaves] = class_columns
    return PaddedLevels(
        tuple(sizes),
        np.concatenate([[], *parents[1:]]).astype(np.int64),
        node_columns,
        class_columns,
        np.concatenate(column_nodes),
        np.vstack([class_columns, of_nodes]),
    )
