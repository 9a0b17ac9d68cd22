"""Backbones: images or texts in, features out, behind one small interface."""

from hiercos.nn.backbones.backbone import Backbone, BackboneError, Preprocess
from hiercos.nn.backbones.preprocessing import ImageTransform
from hiercos.nn.backbones.registry import BACKBONES, load_backbone

__all__ = ["BACKBONES", "Backbone", "BackboneError", "ImageTransform", "Preprocess", "load_backbone"]
