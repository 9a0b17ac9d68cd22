"""Random distributions over the classes of a tree."""

import numpy as np
from numpy.typing import NDArray

from hiercos import Taxonomy


def random_probabilities(taxonomy: Taxonomy, seed: int, rows: int = 3) -> NDArray[np.float64]:
    """Some rows of probabilities, a few classes likely in each, shape (rows, C)."""
    return np.random.default_rng(seed).dirichlet(np.full(taxonomy.num_classes, 0.3), size=rows)
