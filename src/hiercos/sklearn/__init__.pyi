from .classifiers import HierarchicalClassifier as HierarchicalClassifier
from .classifiers import HierCOSClassifier as HierCOSClassifier
from .scorers import HierarchicalScorer as HierarchicalScorer
from .scorers import hops_scorer as hops_scorer
