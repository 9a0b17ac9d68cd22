"""The prefix `timm:`: image models from timm. timm imports torchvision; hiercos itself never does."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.encoders.backbones.backbone import pooled, probed_num_features
from hiercos.encoders.backbones.preprocessing import Fit, ImageTransform
from hiercos.encoders.backbones.table import BackboneError
from hiercos.encoders.backbones.weights import first_line, import_extra
from hiercos.methods import Backbone

FITS: dict[str, Fit] = {"center": "crop", "squash": "squash"}  # timm's crop_mode to ours


class TimmBackbone(Backbone):
    """A timm model without its classifier.

    Shape:
        batch: (B, 3, S, S). Output: (B, F).
    """

    def __init__(self, model: nn.Module, preprocess: ImageTransform) -> None:
        blank = torch.zeros(1, 3, preprocess.size, preprocess.size)
        super().__init__("images", probed_num_features(model, blank), preprocess)
        self.model = model

    def forward(self, batch: Tensor) -> Tensor:
        """Images, shape (B, 3, S, S), to features, shape (B, F)."""
        return pooled(self.model(batch), self.name)


def timm_model(model: str, *, pretrained: bool = True) -> Backbone:
    """An image model from timm, with the preprocessing of its pretrained weights.

    Args:
        model: name in timm, such as "resnet18" or "vit_small_patch14_dinov2.lvd142m".
        pretrained: whether to load the weights (default); False draws them at random.
    """
    name = f"timm:{model}"
    timm = import_extra("timm", extra="timm", backbone=name)
    data = import_extra("timm.data", extra="timm", backbone=name)
    try:
        loaded = timm.create_model(model, pretrained=pretrained, num_classes=0)
    except (OSError, RuntimeError, ValueError) as error:
        raise BackboneError(f"backbone {name!r}: timm cannot load it: {first_line(error)}") from error
    return TimmBackbone(loaded, timm_transform(data.resolve_model_data_config(loaded), backbone=name))


def timm_transform(settings: Mapping[str, Any], *, backbone: str) -> ImageTransform:
    """Image preprocessing from a timm model's data configuration.

    Args:
        settings: result of `timm.data.resolve_model_data_config`: input_size, mean, std, crop_pct, crop_mode and
            interpolation.

    Example:
        >>> settings = {"input_size": (3, 224, 224), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
        >>> settings |= {"crop_pct": 0.875, "crop_mode": "center", "interpolation": "bicubic"}
        >>> timm_transform(settings, backbone="timm:resnet18").crop_share
        0.875
    """
    channels, height, width = settings["input_size"]
    if channels != 3 or height != width:
        raise BackboneError(
            f"backbone {backbone!r}: expected square images of 3 channels, got {settings['input_size']}"
        )
    if settings["crop_mode"] not in FITS:
        raise BackboneError(
            f"backbone {backbone!r}: expected crop_mode center or squash, got {settings['crop_mode']!r}"
        )
    fit, share = FITS[settings["crop_mode"]], settings["crop_pct"]
    return ImageTransform(height, settings["mean"], settings["std"], fit, share, settings["interpolation"])
