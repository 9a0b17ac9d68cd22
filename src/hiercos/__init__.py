"""Classification over a taxonomy: Hier-COS, its baselines, and every hierarchical metric."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hiercos.taxonomy import Taxonomy, TaxonomyError, load_taxonomy

if TYPE_CHECKING:
    from hiercos.interop.classifiers import HierarchicalClassifier, HierCOSClassifier
    from hiercos.losses import HierCOSLoss
    from hiercos.nn import HierCOSHead

__all__ = [
    "HierCOSClassifier",
    "HierCOSHead",
    "HierCOSLoss",
    "HierarchicalClassifier",
    "Taxonomy",
    "TaxonomyError",
    "load_taxonomy",
]
__version__ = version("hiercos")

_NEED_TORCH = {
    "HierCOSClassifier": "hiercos.interop.classifiers",
    "HierCOSHead": "hiercos.nn",
    "HierCOSLoss": "hiercos.losses",
    "HierarchicalClassifier": "hiercos.interop.classifiers",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for, so that a taxonomy or a --help never waits for it."""
    if name in _NEED_TORCH:
        return getattr(import_module(_NEED_TORCH[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
