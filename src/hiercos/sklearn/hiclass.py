"""Conversion between class indices and the 2-D labels of hiclass; `hiercos.taxonomy` converts them to nodes."""

import numpy as np
from numpy.typing import ArrayLike

from hiercos.taxonomy import AnyArray, IntArray, Taxonomy, level_names, node_classes, nodes_from_levels
from hiercos.taxonomy import taxonomy_from_levels as taxonomy_from_hiclass

__all__ = ["classes_from_hiclass", "hiclass_labels", "taxonomy_from_hiclass"]


def classes_from_hiclass(y: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """The class index of each row of 2-D labels, shape (M,); faults as in `nodes_from_levels`."""
    return node_classes(nodes_from_levels(y, taxonomy), taxonomy)


def hiclass_labels(classes: ArrayLike, taxonomy: Taxonomy) -> AnyArray:
    """Class indices as labels of hiclass: the names along each path, shape (M, H), "" beyond a class's depth.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
        >>> hiclass_labels([1, 2], toy).tolist()
        [['pet', 'dog'], ['plant', '']]
    """
    return level_names(taxonomy.leaves[np.asarray(classes, dtype=np.int64)], taxonomy)
