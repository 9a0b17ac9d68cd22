"""The decision rule `default`: each question by the rule that is made for it."""

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from hiercos.decisions.base import RULES, ClassRule, LeastRisk, Likeliest, RuleError, listed_classes
from hiercos.decisions.best_order import MOST_EXACT
from hiercos.decisions.hops import hops_ranking, rank_scores
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray, label_indices, pair_distances

MOST_TOP1_LOST = 0.001  # top-1 accuracy that a smaller expected distance may cost
ANSWERS: dict[str, ClassRule] = {"none": Likeliest(), "crm": LeastRisk()}


@RULES.register("default")
@dataclass(frozen=True)
class DefaultRule(ClassRule):
    """The answer by probability or by expected distance, the list by probability, the order by expected HOPS.

    The answer is the likeliest class, or that of `crm` if held-out samples show that it is nearer to the truth: its
    mean tree distance is smaller by more than one standard error of the paired difference, and its top-1 accuracy
    lower by at most 0.001. The short list has the answer first and then the likeliest other classes. The ranking has
    the answer first and then the order with the highest expected HOPS.

    Args:
        answer: rule of the answer, "none" (the likeliest class) or "crm"; set by `fit`.
        exact_up_to: see `best_order`.

    Example:
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> posterior = Posterior([[0.5, 0.1, 0.4]], t)
        >>> DefaultRule().short_list(posterior, 3).classes, DefaultRule().ranking(posterior)
        (array([[0, 2, 1]]), array([[3., 2., 1.]]))
    """

    answer: Literal["none", "crm"] = "none"
    exact_up_to: int = MOST_EXACT
    fitted = ("answer",)
    lists_by_probability = True

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise RuleError(f"rule 'default': expected the answer 'none' or 'crm', got {self.answer!r}")

    @property
    def criterion(self) -> str:  # type: ignore[override]  # that of the answer
        """Name of the values of the answers."""
        return ANSWERS[self.answer].criterion

    def class_values(self, posterior: Posterior) -> Floats:
        """Values under the rule of the answer, shape (M, C)."""
        return ANSWERS[self.answer].class_values(posterior)

    def ranking(self, posterior: Posterior) -> Floats:
        """Ranking scores from C for the answer to 1 for the last class of the best order behind it.

        On a tree of one level all mistakes are equally far; there the likeliest classes follow.
        """
        if posterior.taxonomy.height == 1:
            return rank_scores(listed_classes(self(posterior).classes, posterior, posterior.taxonomy.num_classes))
        return hops_ranking(posterior, self, exact_up_to=self.exact_up_to)

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with the better answer on held-out samples; labels at inner nodes do not count."""
        indices = label_indices(labels, posterior.taxonomy)
        rows = np.flatnonzero(indices < posterior.taxonomy.num_classes)
        if len(rows) < 2:
            return replace(self, answer="none")
        known, true = posterior.rows(rows), indices[rows]
        likeliest, nearest = (ANSWERS[name](known).classes for name in ("none", "crm"))
        gains = _distances(true, likeliest, posterior) - _distances(true, nearest, posterior)
        lost = np.mean(likeliest == true) - np.mean(nearest == true)
        noise = gains.std(ddof=1) / len(rows) ** 0.5
        return replace(self, answer="crm" if gains.mean() > noise and lost <= MOST_TOP1_LOST else "none")


def _distances(labels: IntArray, classes: IntArray, posterior: Posterior) -> IntArray:
    return pair_distances(posterior.taxonomy, labels, classes)
