"""Small arrays for tests of the estimators: samples around a point for each class, and their labels in every form."""

import numpy as np
from numpy.typing import NDArray

from blobs import cloud
from hiercos import Taxonomy

UNEVEN = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "road", "car"), ("plant",)])
PATHS = np.array(["pet > cat", "pet > dog", "vehicle > road > car", "plant"])
LEVELS = np.array([["pet", "cat", ""], ["pet", "dog", ""], ["vehicle", "road", "car"], ["plant", "", ""]], dtype=object)
NAMES = np.array(["cat", "dog", "car", "plant"])


def samples(count: int = 120, *, seed: int = 0, noise: float = 0.4) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features (count, 12) and class indices (count,) over `UNEVEN`."""
    features, labels = cloud(UNEVEN, count, seed=seed, noise=noise)
    return features.double().numpy(), labels.numpy()
