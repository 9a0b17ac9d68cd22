"""Trainable modules: the transformation module, the Hier-COS head and level classifiers."""

from hiercos.nn.level_heads import SlicedHeads, UnitRowLinear
from hiercos.nn.transformation import Basis, HierCOSHead, ResidualBlock, TransformationModule

__all__ = ["Basis", "HierCOSHead", "ResidualBlock", "SlicedHeads", "TransformationModule", "UnitRowLinear"]
