"""Training augmentation: the preprocessing of a backbone with random crops and flips."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from hiercos.nn.backbones.preprocessing import Box, ByteArray, ImageTransform, resized
from hiercos.options import check_choice

if TYPE_CHECKING:
    from PIL.Image import Image

Augment = Literal["none", "pad-crop", "resized-crop"]
Border = Literal["reflect", "zero"]
PADDING = 4  # pixels on each side; crops start at pixel 0 to 7, as published, though 8 would fit too
SHARES = (0.08, 1.0)  # range of a resized crop's share of the image's area
RATIOS = (3 / 4, 4 / 3)  # range of its width over its height
TRIES = 10  # random boxes drawn before falling back to the centre


@dataclass(frozen=True)
class TrainTransform:
    """A backbone's preprocessing with random augmentation, drawn from the generator passed to each call.

    Args:
        transform: preprocessing of the backbone.
        augment: "pad-crop" pads the resized image by 4 pixels and crops S x S; "resized-crop" resizes a random part
            with 8% to 100% of the image's area; both then mirror it with probability 1/2. "none" only preprocesses.
        border: padding of "pad-crop": "reflect" (default), the mirrored image, or "zero", black.

    Shape:
        images: B PIL images. Output: (B, 3, S, S), float32, its memory in channels-last order.

    Raises:
        ValueError: for an unknown augment or border.
    """

    transform: ImageTransform
    augment: Augment
    border: Border = "reflect"

    def __post_init__(self) -> None:
        check_choice("augment", self.augment, get_args(Augment))
        check_choice("border", self.border, get_args(Border))

    def __call__(self, samples: Sequence["Image"], generator: torch.Generator) -> Tensor:
        """PIL images to a batch, shape (B, 3, S, S)."""
        if self.augment == "none":
            return self.transform(samples)
        if self.augment == "resized-crop":
            boxes = [random_box(image.width, image.height, generator) for image in samples]
            batch = resized(samples, boxes, self.transform.size, self.transform.interpolation)
        else:
            batch = shifted(self.transform.pixels(samples), self.border, generator)
        return self.transform.normalized(mirrored(batch, generator))

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {**asdict(self), "transform": self.transform.to_dict()}


def shifted(batch: ByteArray, border: Border, generator: torch.Generator) -> ByteArray:
    """Each image padded by 4 pixels and cropped to its size at a random position; (B, S, S, 3) to (B, S, S, 3)."""
    count, height, width, _ = batch.shape
    around = ((0, 0), (PADDING, PADDING), (PADDING, PADDING), (0, 0))
    padded = np.pad(batch, around, mode="reflect") if border == "reflect" else np.pad(batch, around)
    starts = torch.randint(2 * PADDING, (count, 2), generator=generator).tolist()
    crops = np.empty_like(batch)
    for row, (top, left) in enumerate(starts):
        crops[row] = padded[row, top : top + height, left : left + width]
    return crops


def mirrored(batch: ByteArray, generator: torch.Generator) -> ByteArray:
    """Each image mirrored left to right with probability 1/2; shape (B, S, S, 3), changed in place."""
    flips = (torch.rand(len(batch), generator=generator) < 0.5).numpy()
    batch[flips] = batch[flips, :, ::-1]
    return batch


def random_box(width: int, height: int, generator: torch.Generator) -> Box:
    """A random box of an image: uniform in its share of the area and in the logarithm of its aspect ratio.

    If none of ten draws fits into the image, the largest centre box within the range of ratios.
    """
    for _ in range(TRIES):
        share, log_ratio = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
        area = width * height * (SHARES[0] + share * (SHARES[1] - SHARES[0]))
        low, high = map(math.log, RATIOS)
        ratio = math.exp(low + log_ratio * (high - low))
        across, down = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < across <= width and 0 < down <= height:
            left = int(torch.randint(width - across + 1, (), generator=generator))
            upper = int(torch.randint(height - down + 1, (), generator=generator))
            return left, upper, left + across, upper + down
    across, down = min(width, round(height * RATIOS[1])), min(height, round(width / RATIOS[0]))
    left, upper = (width - across) // 2, (height - down) // 2
    return left, upper, left + across, upper + down
