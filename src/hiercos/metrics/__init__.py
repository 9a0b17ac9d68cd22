"""Hierarchical metrics: pure functions, torchmetrics classes, and a suite of the usual metrics from one sort.

The classes of the metric table are made from its rows when they are first asked for.
"""

from typing import Any

import lazy_loader

from hiercos.metrics.table import CLASSES

_stub_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.extend(CLASSES)


def __getattr__(name: str) -> Any:
    if name not in CLASSES:
        return _stub_name(name)
    from hiercos.metrics.classes import metric_class

    return metric_class(CLASSES[name])
