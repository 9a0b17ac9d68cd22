"""Image preprocessing of backbones, its settings from files of published models, and the augmentation of training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import torch
from torch import Tensor

from hiercos.checks import check_choice, json_object
from hiercos.data import (
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
from hiercos.encoders.backbones.table import BackboneError
from hiercos.encoders.names import Augment, Border
from hiercos.errors import reading

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "CIFAR_MEAN",
    "CIFAR_STD",
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Augment",
    "Border",
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
PADDING = (
    4  # pixels on each side, or an eighth of it; crops start at pixel 0 to 7, as published, though 8 would fit too
)
SHARES = (0.08, 1.0)  # range of a resized crop's share of the image's area
RATIOS = (3 / 4, 4 / 3)  # range of its width over its height
TRIES = 10  # random boxes drawn before falling back to the centre


@dataclass(frozen=True)
class ImageTransform(PixelTransform):
    """Converts images of any size to one square torch batch; a `Preprocess`. See `PixelTransform` for the arguments.

    Shape:
        images: B PIL images. Output: (B, 3, S, S), float32, its memory in channels-last order.
    """

    def __call__(self, samples: Sequence["Image"]) -> Tensor:
        """PIL images to a batch, shape (B, 3, S, S)."""
        return self.normalized(self.pixels(samples))

    def normalized(self, batch: ByteArray) -> Tensor:
        """Bytes, shape (B, S, S, 3), to (value / 255 - mean) / std, shape (B, 3, S, S)."""
        return torch.from_numpy(self.scaled(batch))


INTERPOLATIONS: dict[int, Interpolation] = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers
UNSUPPORTED_STEPS = ("do_pad", "do_flip_channel_order", "do_color_quantize", "rescale_offset", "include_top")
SQUASHED_FROM = 384  # pixels; ConvNeXt does not crop images of this size or larger


def read_image_transform(folder: Path, *, backbone: str) -> ImageTransform:
    """Read the image preprocessing from a model's folder."""
    for file, key in (("processor_config.json", "image_processor"), ("preprocessor_config.json", None)):
        if (folder / file).is_file():
            where = f"backbone {backbone!r}: {folder / file}"
            content = json_object(where, (folder / file).read_bytes(), BackboneError)
            settings = content if key is None else content.get(key)
            if settings is not None:
                with reading(f"{where}: expected settings of an image processor", BackboneError):
                    return image_transform(settings, where=where)
    raise BackboneError(
        f"backbone {backbone!r}: {folder} has no preprocessor_config.json, which describes the image preprocessing"
    )


def image_transform(settings: Mapping[str, Any], *, where: str) -> ImageTransform:
    """Image preprocessing from the settings of an image processor.

    Example:
        >>> settings = {"size": {"shortest_edge": 256}, "do_center_crop": True, "crop_size": 224, "resample": 3}
        >>> transform = image_transform(settings, where="here")
        >>> transform.size, transform.fit, transform.crop_share, transform.interpolation
        (224, 'crop', 0.875, 'bicubic')
    """
    unsupported = [step for step in UNSUPPORTED_STEPS if settings.get(step)]
    if unsupported or not settings.get("do_resize", True) or family(settings) == "Levit":
        raise BackboneError(f"{where}: the image preprocessing is not supported ({_listed(unsupported, settings)})")
    resample = settings.get("resample", 2)
    if resample not in INTERPOLATIONS:
        raise BackboneError(
            f"{where}: resample: expected one of {', '.join(map(str, INTERPOLATIONS))}, got {resample!r}"
        )
    size, fit, share = geometry(settings, where)
    mean, std = scale(settings, where)
    return ImageTransform(size, mean, std, fit, share, INTERPOLATIONS[resample])


def family(settings: Mapping[str, Any]) -> str:
    """Model family in the image processor's name: "ConvNext" for "ConvNextImageProcessorFast"."""
    name = str(settings.get("image_processor_type", settings.get("feature_extractor_type", "")))
    return name.partition("ImageProcessor")[0].partition("FeatureExtractor")[0]


def geometry(settings: Mapping[str, Any], where: str) -> tuple[int, Fit, float]:
    """Size, fit and crop share of the preprocessing."""
    side, keeps_shape = side_and_shape(settings, where)
    if share := settings.get("crop_pct"):
        squashed = family(settings) == "ConvNext" and side >= SQUASHED_FROM
        return (side, "squash", 1.0) if squashed else (side, "crop", float(share))
    cut = square(settings.get("crop_size"), "crop_size", where) if settings.get("do_center_crop") else side
    if keeps_shape and not settings.get("do_center_crop"):
        raise BackboneError(f"{where}: expected a common shape for all images, got a resize of the shorter side only")
    if cut > side:
        raise BackboneError(f"{where}: crop_size: expected at most the size of {side} pixels, got {cut}")
    return cut, "crop" if keeps_shape else "squash", cut / side


def side_and_shape(settings: Mapping[str, Any], where: str) -> tuple[int, bool]:
    """Side in pixels to which images are resized, and whether only the shorter side is resized to it."""
    size = settings.get("size")
    if isinstance(size, Mapping) and set(size) == {"shortest_edge"}:
        return square(size["shortest_edge"], "size", where), True
    cropped = bool(settings.get("do_center_crop") or settings.get("crop_pct"))
    return square(size, "size", where), isinstance(size, int) and cropped and family(settings) != "DeiT"


def square(size: object, name: str, where: str) -> int:
    """Side of a square given as one number or as two equal ones."""
    side = size.get("height") if isinstance(size, Mapping) and size.get("height") == size.get("width") else size
    if not isinstance(side, int) or isinstance(side, bool):
        raise BackboneError(f"{where}: {name}: expected a square, got {size!r}")
    return side


def scale(settings: Mapping[str, Any], where: str) -> tuple[Channels, Channels]:
    """Mean and standard deviation on a scale from 0 to 1, converted from the scale of the settings."""
    factor = settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 1.0
    unit = round(255 * factor, 9)
    if not settings.get("do_normalize", "image_mean" in settings):
        return (0.0, 0.0, 0.0), (1 / unit, 1 / unit, 1 / unit)
    return _channels(settings, "image_mean", unit, where), _channels(settings, "image_std", unit, where)


def _channels(settings: Mapping[str, Any], name: str, unit: float, where: str) -> Channels:
    values = settings.get(name)
    if not isinstance(values, list | tuple) or len(values) != 3:
        raise BackboneError(f"{where}: {name}: expected one number for each of three channels, got {values!r}")
    return tuple(float(value) / unit for value in values)


def _listed(unsupported: list[str], settings: Mapping[str, Any]) -> str:
    kind = settings.get(
        "image_processor_type", settings.get("feature_extractor_type", "an image processor without a name")
    )
    return ", ".join([str(kind), *unsupported])


@dataclass(frozen=True)
class TrainTransform:
    """A backbone's preprocessing with random augmentation, drawn from the generator passed to each call.

    Args:
        transform: preprocessing of the backbone.
        augment: "pad-crop" pads the resized image by 4 pixels, or S / 8 where that is less, and crops S x S;
            "resized-crop" resizes a random part with 8% to 100% of the image's area; both then mirror it with
            probability 1/2. "none" only preprocesses.
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
    """Each image padded and cropped to its size at a random position; (B, S, S, 3) to (B, S, S, 3)."""
    count, height, width, _ = batch.shape
    padding = min(PADDING, max(1, height // 8))
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    padded = np.pad(batch, around, mode="reflect") if border == "reflect" else np.pad(batch, around)
    starts = torch.randint(2 * padding, (count, 2), generator=generator).tolist()
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
