"""Published methods by name: `METHODS["hier-cos"](taxonomy, in_features=512)` builds a `Method`."""

from hiercos.methods import (  # imported to register
    barz_denzler,
    conditional_softmax,
    cross_entropy,
    flamingo,
    hace,
    hafeat,
    haframe,
    hier_cos,
    hxe,
    path_softmax,
    soft_labels,
    yolo_v2,
)
from hiercos.methods.default import DEFAULT, DEFAULT_RULE
from hiercos.methods.hier_cos import LeafScores, NodeScores
from hiercos.methods.registry import METHODS, Method, MethodError, build_method
from hiercos.methods.search import Between, Space

__all__ = [
    "DEFAULT",
    "DEFAULT_RULE",
    "METHODS",
    "Between",
    "LeafScores",
    "Method",
    "MethodError",
    "NodeScores",
    "Space",
    "barz_denzler",
    "build_method",
    "conditional_softmax",
    "cross_entropy",
    "flamingo",
    "hace",
    "hafeat",
    "haframe",
    "hier_cos",
    "hxe",
    "path_softmax",
    "soft_labels",
    "yolo_v2",
]
