"""Encoders: texts, images or columns in, features out; frozen backbones, TF-IDF, and a cache of features."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
