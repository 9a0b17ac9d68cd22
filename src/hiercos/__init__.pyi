from .hub import load_pipeline as load_pipeline
from .losses import HierCOSLoss as HierCOSLoss
from .methods import HierCOSHead as HierCOSHead
from .sklearn import HierarchicalClassifier as HierarchicalClassifier
from .sklearn import HierCOSClassifier as HierCOSClassifier
from .taxonomy import Taxonomy as Taxonomy
from .taxonomy import TaxonomyError as TaxonomyError
from .taxonomy import load_taxonomy as load_taxonomy

__version__: str
