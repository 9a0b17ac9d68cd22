"""Modules: the transformation module, the Hier-COS head, level classifiers, and a projection of sparse vectors."""

from hiercos.nn.level_heads import SlicedHeads, UnitRowLinear
from hiercos.nn.projection import Projection, SparseMatrix, csr_tensor
from hiercos.nn.transformation import Basis, HierCOSHead, ResidualBlock, TransformationModule

__all__ = [
    "Basis",
    "HierCOSHead",
    "Projection",
    "ResidualBlock",
    "SlicedHeads",
    "SparseMatrix",
    "TransformationModule",
    "UnitRowLinear",
    "csr_tensor",
]
