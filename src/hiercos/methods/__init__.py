"""Methods by name: `METHODS["hier-cos"](taxonomy, in_features=512)` builds a `Method`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
