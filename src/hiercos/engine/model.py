"""A model: standardized features, a method's head, and the scores of its classes and nodes.

A fine-tuned model contains its backbone and takes preprocessed batches; any other model takes features, dense or
sparse. A method that trains on dense features gets those of sparse vectors from the model's projection.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.methods import METHODS, build_method
from hiercos.nn import Projection
from hiercos.nn.backbones import Backbone
from hiercos.taxonomy import Taxonomy

CONSTANT = 1e-6  # deviation over largest magnitude below which a feature varies only by float32 rounding


class Standardize(nn.Module):
    """Scale every feature to mean 0 and variance 1, with statistics set once.

    Shape:
        features: (B, F). Output: (B, F).
    """

    mean: Tensor  # (F,)
    scale: Tensor  # (F,), 1 for a feature that never varies

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(in_features))
        self.register_buffer("scale", torch.ones(in_features))

    def fit(self, features: Tensor) -> None:
        """Set mean and scale from features, shape (M, F) with M at least 1."""
        deviation = features.std(dim=0, correction=0)
        self.mean.copy_(features.mean(dim=0))
        varies = deviation > CONSTANT * features.abs().amax(dim=0)
        self.scale.copy_(deviation.where(varies, 1))

    def forward(self, features: Tensor) -> Tensor:
        """Standardize features, shape (B, F)."""
        return (features - self.mean) / self.scale


class Model(nn.Module):
    """A method over a taxonomy as one module, which is trained, saved and used for prediction.

    Args:
        taxonomy: taxonomy of the classes.
        in_features: width F of the input features.
        method: name in `METHODS`.
        options: options of the method by name; its defaults by default.
        backbone: backbone trained with the model; None for a model that takes features.
        projection: map from sparse vectors (B, V) to features (B, F); None for a model that takes features.

    Shape:
        inputs: features (B, F), which are sparse only for a method that takes raw inputs; or sparse CSR vectors (B, V)
        for the projection; or a preprocessed batch of the backbone. Output: the method's outputs, which `loss`,
        `class_scores` and `node_scores` take.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        in_features: int,
        method: str,
        options: Mapping[str, Any] | None = None,
        *,
        backbone: Backbone | None = None,
        projection: Projection | None = None,
    ) -> None:
        super().__init__()
        self.taxonomy, self.in_features = taxonomy, in_features
        self.method, self.options = METHODS.canonical(method), dict(options or {})
        parts = build_method(method, taxonomy, in_features, self.options)
        self.standardize = Standardize(in_features)
        self.head, self.loss = parts.head, parts.loss
        self.class_scores, self.node_scores = parts.class_scores, parts.node_scores
        self._prepare = parts.prepare
        self.backbone, self.projection = backbone, projection

    @property
    def raw_inputs(self) -> bool:
        """Whether the method takes features as they are: dense or sparse, not projected and not standardized."""
        return METHODS.traits(self.method).raw_inputs

    @property
    def takes_sparse(self) -> bool:
        """Whether the model takes sparse vectors."""
        return self.raw_inputs or self.projection is not None

    @property
    def input_width(self) -> int:
        """Number of columns of the vectors that the model takes: V with a projection, else F."""
        return self.in_features if self.projection is None else self.projection.in_features

    def prepare(self, labels: Tensor, weights: Tensor | None = None) -> None:
        """Show the method the labels (M,) and weights (M,) of all training samples, before training."""
        if self._prepare is not None:
            self._prepare(labels, weights)

    def forward(self, inputs: Any) -> Tensor:
        """Outputs of the method; see the class for the inputs."""
        features = self.features(inputs)
        outputs: Tensor = self.head(features if self.raw_inputs else self.standardize(features))
        return outputs

    def features(self, inputs: Any) -> Tensor:
        """Features (B, F) of model inputs; dense vectors are features already."""
        if self.backbone is not None:
            features: Tensor = self.backbone(inputs)
        elif self.projection is not None and inputs.layout is torch.sparse_csr:
            features = self.projection(inputs)
        else:
            features = inputs
        return features
