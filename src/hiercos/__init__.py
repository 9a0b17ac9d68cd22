"""Classification over a taxonomy: Hier-COS, its baselines, and every hierarchical metric."""

from importlib.metadata import version

import lazy_loader

__version__ = version("hiercos")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # importing the package imports no torch
