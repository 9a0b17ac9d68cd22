"""The default method and rule: the best ones on validation data (docs/default.md)."""

from hiercos.methods import path_softmax  # noqa: F401 - registers the method of the alias
from hiercos.methods.registry import METHODS

DEFAULT = "default"  # alias of the default method
DEFAULT_RULE = "hops"  # a name of `hiercos.decisions.RULES`

METHODS.alias(DEFAULT, "path-softmax")
