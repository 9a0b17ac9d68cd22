"""Trainable parts: the transformation module and the head."""

from hiercos.nn.head import Basis, HierCOSHead
from hiercos.nn.level_heads import SlicedHeads, UnitRowLinear
from hiercos.nn.transformation import ResidualBlock, TransformationModule

__all__ = ["Basis", "HierCOSHead", "ResidualBlock", "SlicedHeads", "TransformationModule", "UnitRowLinear"]
