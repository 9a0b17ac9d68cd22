"""Losses: (outputs, labels, weights=None) to a scalar."""

from hiercos.losses.cross_entropy import CrossEntropyLoss
from hiercos.losses.hier_cos import HierCOSLoss

__all__ = ["CrossEntropyLoss", "HierCOSLoss"]
