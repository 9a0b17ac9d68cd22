"""Labels as numbers: a class index y < C, or C + node for a node of any depth."""

import numpy as np
from numpy.typing import ArrayLike

from hiercos.taxonomy.tree import IntArray, Taxonomy


def node_classes(nodes: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Class index of each node, shape as given.

    Raises:
        ValueError: naming the first node that is no class.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> node_classes([4, 2], t).tolist()
        [2, 0]
    """
    indices = label_indices(nodes, taxonomy)
    inner = indices[indices >= taxonomy.num_classes] - taxonomy.num_classes
    if inner.size:
        raise ValueError(f"{taxonomy.path_text(int(inner[0]))!r} is an inner node: expected a class, which is a leaf")
    return indices


def label_indices(nodes: ArrayLike, taxonomy: Taxonomy) -> IntArray:
    """Nodes as label indices, shape as given: the class index of a leaf, C + node for an inner node.

    Data sets, losses and metrics take labels in this form, in which class indices stay what they are everywhere.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> label_indices([4, 2, 0], t).tolist()  # car, cat, pet
        [2, 0, 3]
    """
    of_node = taxonomy.num_classes + np.arange(taxonomy.num_nodes)
    of_node[taxonomy.leaves] = np.arange(taxonomy.num_classes)
    indices: IntArray = of_node[np.asarray(nodes, dtype=np.int64)]
    return indices
