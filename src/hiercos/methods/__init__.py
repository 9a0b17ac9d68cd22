"""Published methods by name: `METHODS["hier-cos"](taxonomy, in_features=512)` gives a `Method`."""

from hiercos.methods import cross_entropy, hier_cos  # imported to register
from hiercos.methods.method import Method
from hiercos.methods.registry import METHODS, MethodError

__all__ = ["METHODS", "Method", "MethodError", "cross_entropy", "hier_cos"]
