"""From scores to answers: decision rules, calibrated probabilities, and one consistent path."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hiercos.decisions.crm import crm_scores
    from hiercos.decisions.hops_order import hops_order_scores
    from hiercos.decisions.paths import predicted_classes, predicted_paths
    from hiercos.decisions.rules import RULES, Rule, RuleError
    from hiercos.decisions.temperature import class_probabilities, fit_temperature

__all__ = [
    "RULES",
    "Rule",
    "RuleError",
    "class_probabilities",
    "crm_scores",
    "fit_temperature",
    "hops_order_scores",
    "predicted_classes",
    "predicted_paths",
]

_MODULES = {
    "RULES": "rules",
    "Rule": "rules",
    "RuleError": "rules",
    "class_probabilities": "temperature",
    "crm_scores": "crm",
    "fit_temperature": "temperature",
    "hops_order_scores": "hops_order",
    "predicted_classes": "paths",
    "predicted_paths": "paths",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch when it is first asked for: `best_order` serves where there is none."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
