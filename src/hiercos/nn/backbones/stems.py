"""The stem that published runs put between a convolutional backbone and the transformation module."""

import math
from typing import Any

from torch import Tensor, nn

from hiercos.nn.backbones.backbone import Backbone


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
