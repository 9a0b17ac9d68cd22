"""Readers of other programs' prediction files, and a model's answers as table columns and dicts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
