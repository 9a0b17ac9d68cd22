from .classifiers import HierarchicalClassifier as HierarchicalClassifier
from .classifiers import HierCOSClassifier as HierCOSClassifier
from .scorers import HierarchicalScorer as HierarchicalScorer
from .scorers import hops_scorer as hops_scorer
from .validation import classes_from_hiclass as classes_from_hiclass
from .validation import hiclass_labels as hiclass_labels
