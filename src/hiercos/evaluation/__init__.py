"""Evaluation of models and of anybody's scores: score files, metrics by sample, curves and intervals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
