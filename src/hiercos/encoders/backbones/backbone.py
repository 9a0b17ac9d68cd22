"""Backbones, modules from preprocessed images or texts to features: the base class, and any `nn.Module` as one."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.encoders.backbones.table import BackboneError
from hiercos.methods import Backbone, BackboneKind, Preprocess

__all__ = ["Backbone", "ModuleBackbone", "Preprocess", "blank_sample", "pooled", "probed_num_features"]


class ModuleBackbone(Backbone):
    """Your own module as a backbone.

    It is called with the output of `preprocess` and must return a tensor: features (B, F), or feature maps of shape
    (B, F, height, width), which are averaged. If a library's model returns another object, wrap it in a module that
    returns the tensor.

    Args:
        module: the module, trained or not; it is not copied.
        num_features: width F of the features; found by a forward pass of a blank sample by default.
        kind: type of the samples, "images" (default) or "texts".
        preprocess: function from samples to the module's input, such as `ImageTransform(224)`.

    Shape:
        batch: output of `preprocess` for B samples. Output: (B, F).

    Raises:
        BackboneError: if the module returns anything else.

    Example:
        >>> from hiercos.encoders.backbones import ImageTransform
        >>> convolution = nn.Conv2d(3, 8, kernel_size=3)
        >>> ModuleBackbone(convolution, preprocess=ImageTransform(32)).num_features
        8
    """

    def __init__(
        self,
        module: nn.Module,
        num_features: int | None = None,
        kind: BackboneKind = "images",
        *,
        preprocess: Preprocess,
    ) -> None:
        if num_features is None:
            num_features = probed_num_features(module, preprocess([blank_sample(kind)]))
        super().__init__(kind, num_features, preprocess)
        self.name = f"{type(module).__module__}.{type(module).__qualname__}"
        self.module = module

    def forward(self, batch: Any) -> Tensor:
        """A preprocessed batch to features, shape (B, F)."""
        return pooled(self.module(batch), self.name)

    def identity(self) -> dict[str, Any]:
        """The identity of every backbone and the module's repr, since different modules may have equal weights."""
        return {**super().identity(), "module": repr(self.module)}


def pooled(output: Any, name: str) -> Tensor:
    """Features (B, F) unchanged, feature maps averaged to (B, F)."""
    if not isinstance(output, Tensor):
        raise BackboneError(f"{name}: expected a tensor of features, got an object of type {type(output).__name__}")
    if output.ndim not in (2, 4):
        shape = tuple(output.shape)
        raise BackboneError(f"{name}: expected features (B, F) or maps (B, F, height, width), got the shape {shape}")
    return output.mean(dim=(2, 3)) if output.ndim == 4 else output  # (B, F)


def blank_sample(kind: BackboneKind) -> Any:
    """A sample to probe a backbone: a grey image or a word."""
    if kind == "texts":
        return "blank"
    from PIL import Image

    return Image.new("RGB", (64, 64), (128, 128, 128))


def probed_num_features(module: nn.Module, batch: Any) -> int:
    """Width F of the features, found by one call in evaluation mode; training modes are restored afterwards."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.no_grad():
            output = module(_on_device_of(module, batch))
    finally:
        for part in training:
            part.training = True
    return pooled(output, type(module).__qualname__).shape[1]


def _on_device_of(module: nn.Module, batch: Any) -> Any:
    """The batch moved to the device of the module's first parameter."""
    parameter = next(module.parameters(), None)
    if parameter is None:
        return batch
    if isinstance(batch, Mapping):
        return {name: value.to(parameter.device) for name, value in batch.items()}
    return batch.to(parameter.device)
