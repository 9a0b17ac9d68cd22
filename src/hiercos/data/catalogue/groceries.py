"""Photos of groceries on shop shelves: 5 coarse > 14 fine classes, with their own splits."""

import numpy as np

from hiercos.data.catalogue import eccd
from hiercos.data.dataset import Dataset
from hiercos.data.images.collections import EncodedImages
from hiercos.taxonomy import Taxonomy

FILE = "groceries/images2.parquet"


def groceries() -> Dataset:
    """The photos as JPEG files in memory (44 MB), classes in sorted order; copies stay, and are said.

    Raises:
        DataError: without the package that carries them, or pyarrow.
    """
    split, coarse, fine, contents = eccd.read_columns(
        "groceries", FILE, ("dataset", "coarse_cat", "finegrained_cat", "image_data")
    )
    paths = list(zip(coarse, fine, strict=True))
    classes = sorted(set(paths))
    label = {path: number for number, path in enumerate(classes)}
    copies = len(contents) - len(set(contents))
    return Dataset(
        name="groceries",
        taxonomy=Taxonomy.from_paths(classes),
        inputs=EncodedImages(contents, [f"groceries, image {number}" for number in range(1, len(contents) + 1)]),
        labels=np.array([label[path] for path in paths]),
        split=np.array(split),
        notes=(f"groceries: {copies:,} of {len(contents):,} photos are copies of another one of the same split.",),
    )
