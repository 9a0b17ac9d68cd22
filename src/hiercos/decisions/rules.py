"""Decision rules by name: what to make of a method's scores before classes are ranked by them."""

from collections.abc import Callable

from torch import Tensor

from hiercos.decisions.crm import crm_scores
from hiercos.decisions.hops_order import hops_order_scores
from hiercos.decisions.temperature import class_probabilities
from hiercos.errors import FaultsError
from hiercos.taxonomy import Taxonomy

Rule = Callable[[Tensor, float, Taxonomy], Tensor]


class RuleError(FaultsError):
    """An unknown decision rule."""


class Rules(dict[str, Rule]):
    """Rules by name; an unknown name is an error that lists them."""

    def __missing__(self, name: str) -> Rule:
        raise RuleError(f"unknown rule {name!r}; expected one of {', '.join(self)}")


def unchanged(scores: Tensor, temperature: float, taxonomy: Taxonomy) -> Tensor:  # noqa: ARG001 - the rules' signature
    """The method's own order."""
    return scores


def least_risk(scores: Tensor, temperature: float, taxonomy: Taxonomy) -> Tensor:
    """The classes by their expected tree distance, see `crm_scores`."""
    return crm_scores(class_probabilities(scores, temperature), taxonomy)


def highest_hops(scores: Tensor, temperature: float, taxonomy: Taxonomy) -> Tensor:
    """The order with the highest expected HOPS, see `hops_order_scores`."""
    return hops_order_scores(class_probabilities(scores, temperature), taxonomy)


# Each takes scores (B, C), a temperature T and the tree, and gives new scores (B, C); softmax(scores / T) is the
# method's distribution over the classes. T is fitted on validation data with `fit_temperature`.
RULES = Rules({"none": unchanged, "crm": least_risk, "hops": highest_hops})
