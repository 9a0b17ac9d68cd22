"""Classification over a taxonomy: Hier-COS, its baselines, and every hierarchical metric."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from hiercos.lazy import lazy_names
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

__getattr__ = lazy_names(  # so that a taxonomy or a --help never waits for torch
    __name__,
    {
        "HierCOSClassifier": "hiercos.interop.classifiers",
        "HierCOSHead": "hiercos.nn",
        "HierCOSLoss": "hiercos.losses",
        "HierarchicalClassifier": "hiercos.interop.classifiers",
    },
)
