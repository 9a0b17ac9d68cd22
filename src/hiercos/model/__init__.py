"""Trained models: scoring, answers, and model folders. Nothing here trains."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
