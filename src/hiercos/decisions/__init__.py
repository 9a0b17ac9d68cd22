"""From scores to answers: decision rules, calibrated probabilities, and one consistent path."""

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
