"""Losses: (outputs, labels, weights=None) to a scalar."""

from hiercos.losses.barz_denzler import BarzDenzlerLoss
from hiercos.losses.cross_entropy import CrossEntropyLoss
from hiercos.losses.flamingo import FlamingoLoss
from hiercos.losses.hafeat import HAFeatLoss
from hiercos.losses.haframe import HAFrameLoss
from hiercos.losses.hier_cos import HierCOSLoss
from hiercos.losses.hxe import HXELoss
from hiercos.losses.path_log import PathLogLoss
from hiercos.losses.soft_labels import SoftLabelsLoss
from hiercos.losses.yolo_v2 import YOLOv2Loss

__all__ = [
    "BarzDenzlerLoss",
    "CrossEntropyLoss",
    "FlamingoLoss",
    "HAFeatLoss",
    "HAFrameLoss",
    "HXELoss",
    "HierCOSLoss",
    "PathLogLoss",
    "SoftLabelsLoss",
    "YOLOv2Loss",
]
