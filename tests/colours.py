"""A small problem of images: squares of a colour for each class, with noise, that any backbone can learn from."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from hiercos import Taxonomy
from hiercos.data import Dataset
from hiercos.data.images.collections import PixelImages
from hiercos.encoders.backbones import Backbone, ImageTransform
from hiercos.encoders.backbones.backbone import ModuleBackbone

TREE = Taxonomy.from_paths([("warm", "red"), ("warm", "orange"), ("cold", "blue"), ("cold", "green")])
COLOURS = np.array([(200, 40, 40), (220, 150, 30), (40, 50, 200), (40, 180, 70)])
SIDE = 8


def pixels(count: int, *, seed: int = 0) -> np.ndarray:
    """Images of the classes in turn, shape (count, 8, 8, 3)."""
    noise = np.random.default_rng(seed).normal(0, 30, (count, SIDE, SIDE, 3))
    return np.clip(COLOURS[np.arange(count) % 4][:, None, None] + noise, 0, 255).astype(np.uint8)


def colour_images(count: int, *, seed: int = 0) -> PixelImages:
    """The same as a collection."""
    return PixelImages(pixels(count, seed=seed), [f"square {row}" for row in range(count)])


def colour_data(count: int = 60) -> Dataset:
    """The same as a data set with three splits."""
    split = np.array(["train", "train", "train", "val", "test"])[np.arange(count) // 4 % 5]
    return Dataset("colours", TREE, colour_images(count), TREE.leaves[np.arange(count) % 4], split)


def colour_folder(folder: Path, count: int = 60) -> Path:
    """The same as PNG files in nested folders, split by folders of their own."""
    data = colour_data(count)
    for row, (label, split) in enumerate(zip(data.labels, data.split, strict=True)):
        place = folder / str(split) / "/".join(TREE.names[node] for node in TREE.path(int(TREE.leaves[label])))
        place.mkdir(parents=True, exist_ok=True)
        data.inputs.open(row).save(place / f"{row}.png")
    return folder


def small_backbone(*, seed: int = 0, size: int = SIDE) -> Backbone:
    """A convolution with 6 features, its weights drawn from the seed."""
    convolution = nn.Conv2d(3, 6, kernel_size=3)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in convolution.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return ModuleBackbone(convolution, 6, preprocess=ImageTransform(size))
