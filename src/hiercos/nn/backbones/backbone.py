"""What a backbone is: a module from prepared images or texts to features, with its preprocessing and its identity."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from hiercos.errors import FaultsError

Kind = Literal["images", "texts"]


class BackboneError(FaultsError):
    """An unknown backbone, an option it does not have, weights that do not fit, or a missing extra."""


class Preprocess(Protocol):
    """From samples to what `Backbone.forward` takes; light and picklable, so that it runs in workers."""

    def __call__(self, samples: Sequence[Any]) -> Any:
        """PIL images or texts to a tensor, such as (B, 3, S, S), or a dict of tensors."""

    def to_dict(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON: part of a cache's key, and stored with a model."""


class Backbone(nn.Module, ABC):
    """A module that gives features, and all that is needed to use it on raw samples.

    Args:
        kind: what it looks at.
        num_features: F.
        preprocess: from samples to the batch that `forward` takes.

    Attributes:
        name: as the user wrote it, such as "resnet-50" or "timm:resnet18"; set by `load_backbone`.
        options: those given to `load_backbone`, but for the file of weights: `load_backbone(name, pretrained=False,
            **options)` builds the same architecture again, ready for `load_state_dict`.

    Shape:
        batch: what `preprocess` makes of B samples. Output: (B, F).
    """

    def __init__(self, kind: Kind, num_features: int, preprocess: Preprocess) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.options: dict[str, Any] = {}
        self.kind: Kind = kind
        self.num_features = num_features
        self.preprocess = preprocess

    @abstractmethod
    def forward(self, batch: Any) -> Tensor:
        """A prepared batch to features, shape (B, F)."""

    def identity(self) -> dict[str, Any]:
        """What decides the features, as JSON: name, options, preprocessing and a hash of the weights."""
        return {
            "name": self.name,
            "options": self.options,
            "preprocessing": self.preprocess.to_dict(),
            "weights": weights_hash(self.state_dict()),
        }


def weights_hash(state: Mapping[str, Tensor]) -> str:
    """SHA-256 of named tensors, whatever device or memory format they are in.

    Example:
        >>> weights_hash({"bias": torch.zeros(2)})[:16]
        'ba0b67743bc9545b'
    """
    digest = hashlib.sha256()
    for name, value in sorted(state.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        flat = value.detach().cpu().contiguous().flatten()
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


class StemBackbone(Backbone):
    """A backbone whose pooled features are projected to some width, by weights that train at the backbone's rate.

    The published stem is a 1x1 convolution without bias, average pooling and batch norm. Pooling and a 1x1
    convolution commute, so the convolution is here a linear map of the pooled features: the same numbers
    at a fraction of the cost. The batch norm is the one that `TransformationModule` starts with.

    Args:
        backbone: gives F features, each the mean of a map.
        width: of the projection; N for Hier-COS, C for the other methods as published.
        normal: draw its weights from N(0, 2 / width), as published with WideResNet; by default they are uniform within
            1 / sqrt(F), as published with ResNet-50.

    Shape:
        batch: what the backbone takes. Output: (B, width).
    """

    def __init__(self, backbone: Backbone, width: int, *, normal: bool = False) -> None:
        if width < 1:
            raise ValueError(f"expected a stem of at least 1 feature, got {width}")
        super().__init__(backbone.kind, width, backbone.preprocess)
        self.backbone = backbone
        self.projection = nn.Linear(backbone.num_features, width, bias=False)
        if normal:
            nn.init.normal_(self.projection.weight, std=math.sqrt(2 / width))

    def forward(self, batch: Any) -> Tensor:
        """A prepared batch to (B, width)."""
        features: Tensor = self.projection(self.backbone(batch))
        return features
