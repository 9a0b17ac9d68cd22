"""Every decision rule of the package; importing this module registers them."""

from hiercos.decisions.base import RULES, ClassRule, Rule, RuleError, rule, rule_from_dict
from hiercos.decisions.crm import LeastRisk
from hiercos.decisions.hops import HighestHops
from hiercos.decisions.likeliest import Likeliest

__all__ = [
    "RULES",
    "ClassRule",
    "HighestHops",
    "LeastRisk",
    "Likeliest",
    "Rule",
    "RuleError",
    "rule",
    "rule_from_dict",
]
