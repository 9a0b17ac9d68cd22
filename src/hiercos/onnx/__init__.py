"""Export of models to ONNX, and inference with exported models in onnxruntime."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
