"""The method and rule to use unless there is a reason for another: what led on validation data (docs/default.md)."""

from hiercos.methods import path_softmax  # noqa: F401 - registers the method that the alias stands for
from hiercos.methods.registry import METHODS

DEFAULT = "default"  # the alias
DEFAULT_RULE = "hops"  # of `hiercos.decisions.RULES`

METHODS.alias(DEFAULT, "path-softmax")
