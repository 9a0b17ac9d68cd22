"""Hierarchical metrics: pure functions, torchmetrics classes, and a suite of the usual metrics from one sort."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
