"""Backbones: images or texts in, features out, behind one small interface."""

from hiercos.nn.backbones import (  # noqa: F401 (each registers itself)
    efficientnet_lite,
    ngrams,
    onnx_file,
    resnet,
    sentence_models,
    timm_models,
    transformers_models,
    vit,
)
from hiercos.nn.backbones.backbone import (
    BACKBONES,
    Backbone,
    BackboneError,
    ModuleBackbone,
    Preprocess,
    StemBackbone,
    blank_sample,
    load_backbone,
)
from hiercos.nn.backbones.onnx_file import OnnxBackbone
from hiercos.nn.backbones.preprocessing import Augment, Border, ImageTransform, TrainTransform

__all__ = [
    "BACKBONES",
    "Augment",
    "Backbone",
    "BackboneError",
    "Border",
    "ImageTransform",
    "ModuleBackbone",
    "OnnxBackbone",
    "Preprocess",
    "StemBackbone",
    "TrainTransform",
    "blank_sample",
    "load_backbone",
]
