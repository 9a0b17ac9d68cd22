"""Base class of backbones: modules from preprocessed images or texts to features, which a model may contain."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

BackboneKind = Literal["images", "texts"]


class Preprocess(Protocol):
    """Function from samples to the batch that `Backbone.forward` takes; small and picklable, to run in workers."""

    def __call__(self, samples: Sequence[Any]) -> Any:
        """PIL images or texts to a tensor, such as (B, 3, S, S), or a dict of tensors."""

    def to_dict(self) -> dict[str, Any]:
        """All settings that determine the result, as JSON values: part of the cache key, and stored with a model."""


class Backbone(nn.Module, ABC):
    """A feature extractor with the preprocessing of raw samples.

    Args:
        kind: type of the samples, "images" or "texts".
        num_features: width F of the features.
        preprocess: function from samples to the batch that `forward` takes.

    Attributes:
        name: name given by the user, such as "resnet-50" or "timm:resnet18"; set by `load_backbone`.
        options: options of `load_backbone` except the file of weights: `load_backbone(name, pretrained=False,
            **options)` builds the same architecture again, ready for `load_state_dict`.

    Shape:
        batch: output of `preprocess` for B samples. Output: (B, F).
    """

    def __init__(self, kind: BackboneKind, num_features: int, preprocess: Preprocess) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.options: dict[str, Any] = {}
        self.kind: BackboneKind = kind
        self.num_features = num_features
        self.preprocess = preprocess

    @abstractmethod
    def forward(self, batch: Any) -> Tensor:
        """A preprocessed batch to features, shape (B, F)."""

    def identity(self) -> dict[str, Any]:
        """All that determines the features, as JSON values: name, options, preprocessing and a hash of the weights."""
        return {
            "name": self.name,
            "options": self.options,
            "preprocessing": self.preprocess.to_dict(),
            "weights": weights_hash(self.state_dict()),
        }


def weights_hash(state: Mapping[str, Tensor]) -> str:
    """SHA-256 of named tensors, independent of their device and memory format.

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
