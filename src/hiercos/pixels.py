"""From images to numbers: resized by Pillow, scaled by NumPy, all images of a batch at once. Open to every package."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hiercos.options import check_choice

if TYPE_CHECKING:
    from PIL.Image import Image

Fit = Literal["squash", "crop"]
Interpolation = Literal["nearest", "lanczos", "bilinear", "bicubic"]
Channels = Sequence[float]  # of red, green and blue
ByteArray = np.ndarray[Any, np.dtype[np.uint8]]
PixelArray = np.ndarray[Any, np.dtype[np.float32]]
Box = tuple[float, float, float, float]  # left, upper, right, lower

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class PixelTransform:
    """Images of any size to one square batch.

    Args:
        size: S, the side in pixels.
        mean: of red, green and blue on a scale from 0 to 1; subtracted.
        std: of the same; divided by.
        fit: "squash" resizes to S x S whatever the shape; "crop" keeps the shape and takes the middle.
        crop_share: the share of the shorter side that is kept, which is resized to S / crop_share; with "squash", of
            both sides.
        interpolation: how Pillow resizes.

    Raises:
        ValueError: for an unknown fit or interpolation, a size below 1, a share that is not in (0, 1], or a mean or std
            that is not one number for each channel.
    """

    size: int
    mean: Channels = IMAGENET_MEAN
    std: Channels = IMAGENET_STD
    fit: Fit = "squash"
    crop_share: float = 1.0
    interpolation: Interpolation = "bicubic"

    def __post_init__(self) -> None:
        check_choice("fit", self.fit, get_args(Fit))
        check_choice("interpolation", self.interpolation, get_args(Interpolation))
        if self.size < 1:
            raise ValueError(f"expected a size of at least 1 pixel, got {self.size}")
        if not 0 < self.crop_share <= 1:
            raise ValueError(f"expected a crop_share above 0 and at most 1, got {self.crop_share}")
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise ValueError(f"expected three means and three positive stds, got {self.mean} and {self.std}")
        object.__setattr__(self, "mean", tuple(self.mean))  # a list, as JSON has it, would not hash
        object.__setattr__(self, "std", tuple(self.std))

    def pixels(self, samples: Sequence["Image"]) -> ByteArray:
        """PIL images to bytes, shape (B, S, S, 3)."""
        boxes = [self.box(image.width, image.height) for image in samples]
        return resized(samples, boxes, self.size, self.interpolation)

    def box(self, width: int, height: int) -> Box:
        """The part of an image of some size that becomes the S x S pixels."""
        if self.fit == "squash":
            margin = central_margin(self.size, self.crop_share)
            return margin * width, margin * height, (1 - margin) * width, (1 - margin) * height
        return central_box(width, height, self.size, self.crop_share)

    def scaled(self, batch: ByteArray) -> PixelArray:
        """Bytes to (value / 255 - mean) / std.

        Args:
            batch: shape (B, S, S, 3).

        Returns:
            Shape (B, 3, S, S), float32, its memory in the order of the bytes: channels last.
        """
        count, height, width, channels = batch.shape
        mean, std = np.array(self.mean, dtype=np.float32), np.array(self.std, dtype=np.float32)
        rows = batch.reshape(count, height, width * channels).astype(np.float32)  # long rows are quick to scale
        rows *= np.tile(1 / (255 * std), width)
        rows -= np.tile(mean / std, width)
        return rows.reshape(batch.shape).transpose(0, 3, 1, 2)  # (B, 3, S, S)

    def to_dict(self) -> dict[str, Any]:
        """The fields, as JSON; made of them, the transform is the same again."""
        return {**asdict(self), "mean": list(self.mean), "std": list(self.std)}


def resized_side(size: int, share: float) -> int:
    """The side in pixels of which size pixels are the share.

    Example:
        >>> resized_side(224, 0.9), resized_side(94, 94 / 115)
        (248, 115)
    """
    return int(size / share + 1e-6)  # 94 / (94 / 115) is a little less than 115


def central_margin(size: int, share: float) -> float:
    """The part of a side that is cut off at each end when it is resized to size / share pixels and size are kept.

    Example:
        >>> central_margin(size=224, share=0.875)
        0.0625
    """
    side = resized_side(size, share)
    return (side - size) / (2 * side)


def central_box(width: int, height: int, size: int, share: float) -> Box:
    """The middle that is left when the shorter side is resized to size / share pixels and size x size are cut out.

    Sides and margins are whole pixels of the resized image, as where one resizes first and cuts then; the box
    is in pixels of the original, so that one resize does both.

    Example:
        >>> central_box(width=200, height=100, size=50, share=1.0)
        (50.0, 0.0, 150.0, 100.0)
    """
    shorter = resized_side(size, share)
    resized_width, resized_height = (side * shorter // min(width, height) for side in (width, height))
    left, upper = round((resized_width - size) / 2), round((resized_height - size) / 2)
    across, down = width / resized_width, height / resized_height
    return left * across, upper * down, (left + size) * across, (upper + size) * down


def resized(images: Sequence["Image"], boxes: Sequence[Box], size: int, interpolation: Interpolation) -> ByteArray:
    """The boxes of images, resized: shape (B, size, size, 3)."""
    from PIL import Image

    resample = Image.Resampling[interpolation.upper()]
    batch = np.empty((len(images), size, size, 3), dtype=np.uint8)
    for row, (image, box) in enumerate(zip(images, boxes, strict=True)):
        colours = image if image.mode == "RGB" else image.convert("RGB")
        batch[row] = np.asarray(colours.resize((size, size), resample, box))
    return batch
