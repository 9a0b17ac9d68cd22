"""Modules: the transformation module, the Hier-COS head, level classifiers, and a projection of sparse vectors."""

from hiercos.nn.feature_layers import CONSTANT, Projection, SparseMatrix, Standardize, csr_tensor, feature_scale
from hiercos.nn.heads import (
    Activation,
    Basis,
    HierCOSHead,
    ResidualBlock,
    SlicedHeads,
    TransformationModule,
    UnitRowLinear,
)

__all__ = [
    "CONSTANT",
    "Activation",
    "Basis",
    "HierCOSHead",
    "Projection",
    "ResidualBlock",
    "SlicedHeads",
    "SparseMatrix",
    "Standardize",
    "TransformationModule",
    "UnitRowLinear",
    "csr_tensor",
    "feature_scale",
]
