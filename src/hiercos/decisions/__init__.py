"""From scores to answers: decision rules, calibrated probabilities, and one consistent path."""

from typing import TYPE_CHECKING

from hiercos.lazy import lazy_names

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

__getattr__ = lazy_names(  # `best_order` serves where there is no torch
    __name__,
    {
        "RULES": "hiercos.decisions.rules",
        "Rule": "hiercos.decisions.rules",
        "RuleError": "hiercos.decisions.rules",
        "class_probabilities": "hiercos.decisions.temperature",
        "crm_scores": "hiercos.decisions.crm",
        "fit_temperature": "hiercos.decisions.temperature",
        "hops_order_scores": "hiercos.decisions.hops_order",
        "predicted_classes": "hiercos.decisions.paths",
        "predicted_paths": "hiercos.decisions.paths",
    },
)
