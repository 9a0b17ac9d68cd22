"""From scores to answers: decision rules, calibrated probabilities, and one consistent path."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
