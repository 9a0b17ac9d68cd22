"""Data sets: the built-in ones, the user's own images, tables and vectors, splits and features."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
