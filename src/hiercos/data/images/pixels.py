"""Image preprocessing: resize with Pillow, scale with NumPy, one batch at a time. Open to every package."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hiercos.checks import check_choice, fits

if TYPE_CHECKING:
    from PIL.Image import Image

Fit = Literal["squash", "crop"]
Interpolation = Literal["nearest", "lanczos", "bilinear", "bicubic"]
Channels = Sequence[float]  # one number each for red, green and blue
ByteArray = np.ndarray[Any, np.dtype[np.uint8]]
PixelArray = np.ndarray[Any, np.dtype[np.float32]]
Box = tuple[float, float, float, float]  # left, upper, right, lower

LARGEST_SIZE = 8192  # pixels of a side of the output
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class PixelTransform:
    """Converts images of any size to one square batch.

    Args:
        size: side S of the output in pixels.
        mean: mean of each channel on a scale from 0 to 1, which is subtracted; ImageNet's by default.
        std: standard deviation of each channel on the same scale, the divisor; ImageNet's by default.
        fit: "squash" (default) resizes to S x S, ignoring the aspect ratio; "crop" keeps it and crops the centre.
        crop_share: share of the shorter side that is kept, after a resize to S / crop_share; with "squash", share of
            both sides. 1 by default.
        interpolation: Pillow's resampling filter; "bicubic" by default.

    Raises:
        ValueError: for an unknown fit or interpolation, a size below 1, a share outside (0, 1], or a mean or std
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
        if not fits(self.size, int) or not 1 <= self.size <= LARGEST_SIZE:
            raise ValueError(f"expected a size of 1 to {LARGEST_SIZE} pixels, got {self.size!r}")
        if not fits(self.crop_share, float) or not 0 < self.crop_share <= 1:
            raise ValueError(f"expected a crop_share above 0 and at most 1, got {self.crop_share!r}")
        three = all(fits(values, Sequence[float]) and len(values) == 3 for values in (self.mean, self.std))
        if not three or min(self.std) <= 0:
            raise ValueError(f"expected three means and three positive stds, got {self.mean} and {self.std}")
        object.__setattr__(self, "mean", tuple(self.mean))  # a list, as read from JSON, is not hashable
        object.__setattr__(self, "std", tuple(self.std))

    def pixels(self, samples: Sequence["Image"]) -> ByteArray:
        """PIL images to bytes, shape (B, S, S, 3)."""
        boxes = [self.box(image.width, image.height) for image in samples]
        return resized(samples, boxes, self.size, self.interpolation)

    def box(self, width: int, height: int) -> Box:
        """Part of an image of a given size that is resized to S x S."""
        if self.fit == "squash":
            margin = central_margin(self.size, self.crop_share)
            return margin * width, margin * height, (1 - margin) * width, (1 - margin) * height
        return central_box(width, height, self.size, self.crop_share)

    def scaled(self, batch: ByteArray) -> PixelArray:
        """Bytes to (value / 255 - mean) / std.

        Args:
            batch: images as bytes, shape (B, S, S, 3).

        Returns:
            Scaled images, shape (B, 3, S, S), float32, in channels-last memory order.
        """
        count, height, width, channels = batch.shape
        mean, std = np.array(self.mean, dtype=np.float32), np.array(self.std, dtype=np.float32)
        rows = batch.reshape(count, height, width * channels).astype(np.float32)  # long rows are scaled faster
        rows *= np.tile(1 / (255 * std), width)
        rows -= np.tile(mean / std, width)
        return rows.reshape(batch.shape).transpose(0, 3, 1, 2)  # (B, 3, S, S)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values; the constructor accepts them."""
        return {**asdict(self), "mean": list(self.mean), "std": list(self.std)}


def resized_side(size: int, share: float) -> int:
    """Side in pixels before a crop: `size` pixels are the given share of it.

    Example:
        >>> resized_side(224, 0.9), resized_side(94, 94 / 115)
        (248, 115)
    """
    return int(size / share + 1e-6)  # 94 / (94 / 115) is a little less than 115


def central_margin(size: int, share: float) -> float:
    """Share of a side that is cut off at each end by a centre crop of `size` out of `size / share` pixels.

    Example:
        >>> central_margin(size=224, share=0.875)
        0.0625
    """
    side = resized_side(size, share)
    return (side - size) / (2 * side)


def central_box(width: int, height: int, size: int, share: float) -> Box:
    """Box of a centre crop of size x size pixels after the shorter side is resized to size / share pixels.

    Sides and margins are whole pixels of the resized image, as in a resize followed by a crop; the box
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
    """One box of each image, resized: shape (B, size, size, 3)."""
    from PIL import Image

    resample = Image.Resampling[interpolation.upper()]
    batch = np.empty((len(images), size, size, 3), dtype=np.uint8)
    for row, (image, box) in enumerate(zip(images, boxes, strict=True)):
        colours = image if image.mode == "RGB" else image.convert("RGB")
        batch[row] = np.asarray(colours.resize((size, size), resample, box))
    return batch
