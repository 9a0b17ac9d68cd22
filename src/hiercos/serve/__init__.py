"""A trained model behind HTTP: a JSON interface, a page, and the review of the rows worth a person's time."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
