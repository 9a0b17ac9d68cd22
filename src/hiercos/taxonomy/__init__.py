"""The label tree: a frozen value, labels as its nodes, readers and writers, distances, a catalogue. NumPy only."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
