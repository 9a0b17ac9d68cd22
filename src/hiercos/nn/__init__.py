"""Trainable parts: the transformation module and the head."""

from hiercos.nn.head import HierCOSHead
from hiercos.nn.transformation import ResidualBlock, TransformationModule

__all__ = ["HierCOSHead", "ResidualBlock", "TransformationModule"]
