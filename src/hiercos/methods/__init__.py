"""Published methods by name: `METHODS["hier-cos"](taxonomy, in_features=512)` builds a `Method`."""

from hiercos.methods import (  # imported to register
    barz_denzler,
    c_hmcnn,
    committees,
    conditional_softmax,
    cross_entropy,
    flamingo,
    gaussian,
    hace,
    hafeat,
    haframe,
    hier_cos,
    hxe,
    linear,
    path_softmax,
    soft_labels,
    yolo_v2,
)
from hiercos.methods.committees import DEFAULT_RULE, FINE_TUNED_DEFAULT, Committee
from hiercos.methods.hier_cos import LeafScores, NodeScores
from hiercos.methods.model import Model
from hiercos.methods.registry import DEFAULT, METHODS, Between, Method, MethodError, MethodTraits, Space, build_method
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved, Solver

__all__ = [
    "DEFAULT",
    "DEFAULT_RULE",
    "FINE_TUNED_DEFAULT",
    "METHODS",
    "Between",
    "Committee",
    "LabelledFeatures",
    "LeafScores",
    "MemberTraining",
    "Method",
    "MethodError",
    "MethodTraits",
    "Model",
    "NodeScores",
    "Solved",
    "Solver",
    "Space",
    "barz_denzler",
    "build_method",
    "c_hmcnn",
    "committees",
    "conditional_softmax",
    "cross_entropy",
    "flamingo",
    "gaussian",
    "hace",
    "hafeat",
    "haframe",
    "hier_cos",
    "hxe",
    "linear",
    "path_softmax",
    "soft_labels",
    "yolo_v2",
]
