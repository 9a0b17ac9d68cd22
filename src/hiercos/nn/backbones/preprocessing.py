"""Image preprocessing of backbones, and its settings from the configuration files of published models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hiercos.errors import reading
from hiercos.json_files import json_object
from hiercos.nn.backbones.backbone import BackboneError
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
    """Read the image preprocessing from a model's folder.

    Raises:
        BackboneError: if the folder has no preprocessing file, or describes a step that `ImageTransform` lacks.
    """
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

    Args:
        settings: content of preprocessor_config.json, in its current form or an earlier one.
        where: prefix of messages.

    Raises:
        BackboneError: for a step that `ImageTransform` lacks.

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
