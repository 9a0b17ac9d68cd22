from .classifier import HierarchicalClassifier as HierarchicalClassifier
from .hier_cos import HierCOSClassifier as HierCOSClassifier
from .inputs import classes_from_hiclass as classes_from_hiclass
from .inputs import hiclass_labels as hiclass_labels
from .scorers import HierarchicalScorer as HierarchicalScorer
from .scorers import hops_scorer as hops_scorer
