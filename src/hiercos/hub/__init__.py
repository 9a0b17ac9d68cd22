"""Models on the Hugging Face Hub, and trained models as one Python call."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
