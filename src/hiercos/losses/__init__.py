"""Losses: (outputs, labels, weights=None) to a scalar."""

from hiercos.losses.barz_denzler import BarzDenzlerLoss
from hiercos.losses.conditional_softmax import ConditionalSoftmaxLoss
from hiercos.losses.cross_entropy import CrossEntropyLoss
from hiercos.losses.flamingo import FlamingoLoss
from hiercos.losses.hace import HACELoss
from hiercos.losses.hafeat import HAFeatLoss
from hiercos.losses.haframe import HAFrameLoss
from hiercos.losses.hier_cos import BelowLabel, Direction, Grouping, HierCOSLoss, Penalty
from hiercos.losses.hxe import HXELoss
from hiercos.losses.mc_loss import MCLoss
from hiercos.losses.path_log import PathLogLoss
from hiercos.losses.soft_labels import SoftLabelsLoss
from hiercos.losses.yolo_v2 import YOLOv2Loss

__all__ = [
    "BarzDenzlerLoss",
    "BelowLabel",
    "ConditionalSoftmaxLoss",
    "CrossEntropyLoss",
    "Direction",
    "FlamingoLoss",
    "Grouping",
    "HACELoss",
    "HAFeatLoss",
    "HAFrameLoss",
    "HXELoss",
    "HierCOSLoss",
    "MCLoss",
    "PathLogLoss",
    "Penalty",
    "SoftLabelsLoss",
    "YOLOv2Loss",
]
