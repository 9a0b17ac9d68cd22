"""Any `nn.Module` as a backbone, for those who have one in Python already."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.nn.backbones.backbone import Backbone, BackboneError, Kind, Preprocess


class ModuleBackbone(Backbone):
    """A module of your own as a backbone.

    It is called with what `preprocess` makes and has to return a tensor: features (B, F), or maps of shape
    (B, F, height, width), which are averaged. What a library's output object means is not guessed: wrap such a model in
    a module that returns the tensor.

    Args:
        module: trained or not; it is used as it is, not copied.
        num_features: F; without it one blank sample is tried.
        kind: what it looks at.
        preprocess: from samples to its input, such as `ImageTransform(224)`.

    Shape:
        batch: what `preprocess` makes of B samples. Output: (B, F).

    Raises:
        BackboneError: if the module returns anything else.

    Example:
        >>> from hiercos.nn.backbones import ImageTransform
        >>> convolution = nn.Conv2d(3, 8, kernel_size=3)
        >>> ModuleBackbone(convolution, preprocess=ImageTransform(32)).num_features
        8
    """

    def __init__(
        self, module: nn.Module, num_features: int | None = None, kind: Kind = "images", *, preprocess: Preprocess
    ) -> None:
        if num_features is None:
            num_features = tried_features(module, preprocess([blank_sample(kind)]))
        super().__init__(kind, num_features, preprocess)
        self.name = f"{type(module).__module__}.{type(module).__qualname__}"
        self.module = module

    def forward(self, batch: Any) -> Tensor:
        """What `preprocess` makes of B samples to features, shape (B, F)."""
        return pooled(self.module(batch), self.name)

    def identity(self) -> dict[str, Any]:
        """As of every backbone, and the module's printed form: equal weights may stand in different modules."""
        return {**super().identity(), "module": repr(self.module)}


def pooled(output: Any, name: str) -> Tensor:
    """Features as they are, and maps averaged: shape (B, F) in both cases.

    Raises:
        BackboneError: for anything but a tensor of two or four dimensions.
    """
    if not isinstance(output, Tensor):
        raise BackboneError(f"{name}: expected a tensor of features, got an object of type {type(output).__name__}")
    if output.ndim not in (2, 4):
        shape = tuple(output.shape)
        raise BackboneError(f"{name}: expected features (B, F) or maps (B, F, height, width), got the shape {shape}")
    return output.mean(dim=(2, 3)) if output.ndim == 4 else output  # (B, F)


def blank_sample(kind: Kind) -> Any:
    """A sample to try a backbone on: a grey image or a word."""
    if kind == "texts":
        return "blank"
    from PIL import Image

    return Image.new("RGB", (64, 64), (128, 128, 128))


def tried_features(module: nn.Module, batch: Any) -> int:
    """F, found by one call in evaluation mode; the module's own modes come back after it."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.no_grad():
            output = module(_beside(batch, module))
    finally:
        for part in training:
            part.training = True
    return pooled(output, type(module).__qualname__).shape[1]


def _beside(batch: Any, module: nn.Module) -> Any:
    """A batch on the device of a module's first parameter."""
    parameter = next(module.parameters(), None)
    if parameter is None:
        return batch
    if isinstance(batch, Mapping):
        return {name: value.to(parameter.device) for name, value in batch.items()}
    return batch.to(parameter.device)
