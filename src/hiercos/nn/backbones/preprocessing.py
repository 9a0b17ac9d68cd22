"""From images to the batch a backbone takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hiercos.pixels import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    Box,
    ByteArray,
    Channels,
    Fit,
    Interpolation,
    PixelTransform,
    central_box,
    resized,
)

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "CIFAR_MEAN",
    "CIFAR_STD",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Box",
    "ByteArray",
    "Channels",
    "Fit",
    "ImageTransform",
    "Interpolation",
    "central_box",
    "resized",
]

CIFAR_MEAN = (0.5071, 0.4867, 0.4408)
CIFAR_STD = (0.2675, 0.2565, 0.2761)


@dataclass(frozen=True)
class ImageTransform(PixelTransform):
    """Images of any size to one square batch of torch; a `Preprocess`. See `PixelTransform`, which does the work.

    Shape:
        images: B PIL images. Output: (B, 3, S, S), float32, its memory in channels-last order.
    """

    def __call__(self, samples: Sequence["Image"]) -> Tensor:
        """PIL images to a batch, shape (B, 3, S, S)."""
        return self.normalized(self.pixels(samples))

    def normalized(self, batch: ByteArray) -> Tensor:
        """Bytes, shape (B, S, S, 3), to (value / 255 - mean) / std, shape (B, 3, S, S)."""
        return torch.from_numpy(self.scaled(batch))
