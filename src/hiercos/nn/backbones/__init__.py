"""Backbones: images or texts in, features out, behind one small interface."""

from hiercos.nn.backbones import efficientnet_lite, resnet, vit, wide_resnet  # noqa: F401 (each registers itself)
from hiercos.nn.backbones.augmentation import TrainTransform
from hiercos.nn.backbones.backbone import Backbone, BackboneError, Preprocess
from hiercos.nn.backbones.preprocessing import ImageTransform
from hiercos.nn.backbones.registry import BACKBONES, load_backbone
from hiercos.nn.backbones.stems import StemBackbone

__all__ = [
    "BACKBONES",
    "Backbone",
    "BackboneError",
    "ImageTransform",
    "Preprocess",
    "StemBackbone",
    "TrainTransform",
    "load_backbone",
]
