"""Modules: the transformation module, the Hier-COS head, level classifiers, and a projection of sparse vectors."""

from hiercos.nn.level_heads import SlicedHeads, UnitRowLinear
from hiercos.nn.projection import Projection, SparseMatrix, csr_tensor
from hiercos.nn.standardize import CONSTANT, Standardize, feature_scale
from hiercos.nn.transformation import Activation, Basis, HierCOSHead, ResidualBlock, TransformationModule

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
