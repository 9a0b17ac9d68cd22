"""The rule of models of samples with several labels: every node that is likely enough."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.base import ROOT, Decision, NodeRule, RuleError, RuleParameterError
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray, Taxonomy, ancestor_sums, descendant_sums, set_targets

EVEN = 0.5  # threshold without held-out samples
NEVER = 2.0  # threshold that no probability reaches
PRECISIONS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99)  # that held-out samples tell the thresholds of


class Pairs(NamedTuple):
    """Pairs of a sample and a node of one level, the most probable first."""

    probabilities: Floats  # (P,)
    hits: IntArray  # (P,) number of right pairs down to this one

    @property
    def is_last(self) -> NDArray[np.bool_]:
        """Mask of the pairs that a threshold can end with: the last ones of equal probability, shape (P,)."""
        return np.append(np.diff(self.probabilities) != 0, True)[: len(self.probabilities)]


@dataclass(frozen=True)
class Several(NodeRule):
    """Every node that reaches the threshold of its level, with all nodes above it: an answer is a set of nodes.

    The thresholds are those of the highest F1 on held-out samples, or of a wanted precision there. As a rule that gives
    one node it answers with the deepest of the set, the most probable of these.

    Args:
        confidence: threshold of every level; None for those of held-out samples.
        precision: precision of the answers at each level on held-out samples, as one of `PRECISIONS` or more; None for
            the highest F1.
        thresholds: threshold of each level, of the highest F1; None before `fitted_to`.
        at_precisions: threshold of each level at each of `PRECISIONS`; None before `fitted_to`.
    """

    name = "several"
    fitted = ("thresholds", "at_precisions")

    confidence: float | None = None
    precision: float | None = None
    thresholds: tuple[float, ...] | None = None
    at_precisions: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        for name in ("thresholds", "at_precisions"):  # lists from JSON
            values = getattr(self, name)
            if values is not None:
                rows = (tuple(value) if isinstance(value, list) else value for value in values)
                object.__setattr__(self, name, tuple(rows))
        for name in ("confidence", "precision"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise RuleError(f"rule 'several': expected a {name} above 0 and at most 1, got {value}")

    def asked(self, given: Mapping[str, Any]) -> "Several":
        """The rule with what a request asks of it.

        Raises:
            RuleParameterError: for anything but one confidence or a precision.
        """
        if not given:
            return self
        others = sorted(set(given) - {"confidence", "target_precision"})
        if others or len(given) > 1 or not isinstance(given.get("confidence", 0.5), float | int):
            name = (others or sorted(given))[-1]
            raise RuleParameterError(
                "{}: expected one {} or a {} of a model of several labels", name, "confidence", "target_precision"
            )
        return replace(self, confidence=given.get("confidence"), precision=given.get("target_precision"))

    def fitted_to(self, marginals: NDArray[np.floating], sets: IntArray, taxonomy: Taxonomy) -> "Several":
        """The rule with thresholds from M held-out samples.

        Args:
            marginals: probability of each node, shape (M, N).
            sets: nodes of the labels of each sample, -1 for none, shape (M, K).
            taxonomy: the tree or graph.
        """
        right, known = set_targets(sets, taxonomy)
        levels = [
            level_pairs(marginals, right, known, taxonomy.depths == depth + 1) for depth in range(taxonomy.height)
        ]
        best = tuple(highest_f1(pairs) for pairs in levels)
        return replace(
            self,
            thresholds=best,
            at_precisions=tuple(tuple(least_precise(pairs, wanted) for pairs in levels) for wanted in PRECISIONS),
        )

    def like(self, other: "Several") -> "Several":
        """The rule with the parameters of another one."""
        return replace(self, **other.parameters)

    def level_thresholds(self, height: int) -> Floats:
        """Threshold of each level, shape (H,)."""
        if self.confidence is not None:
            return np.full(height, self.confidence)
        if self.precision is None:
            return np.array(self.thresholds or [EVEN] * height)
        if self.at_precisions is None:
            raise RuleError("rule 'several': expected a model with held-out samples of several labels for a precision")
        place = int(np.searchsorted(PRECISIONS, self.precision - 1e-9))
        return np.full(height, NEVER) if place == len(PRECISIONS) else np.array(self.at_precisions[place])

    def chosen(self, posterior: Posterior) -> NDArray[np.bool_]:
        """Mask of the nodes of each answer, shape (M, N): with a node, all above it."""
        taxonomy = posterior.taxonomy
        likely = posterior.each_node >= self.level_thresholds(taxonomy.height)[taxonomy.depths - 1]
        chosen: NDArray[np.bool_] = ancestor_sums(likely.astype(np.float64), taxonomy) == taxonomy.ancestor_counts
        return chosen

    def deepest(self, posterior: Posterior) -> NDArray[np.bool_]:
        """Mask of the chosen nodes above no other chosen one, shape (M, N)."""
        chosen = self.chosen(posterior)
        last: NDArray[np.bool_] = chosen & (descendant_sums(chosen.astype(np.float64), posterior.taxonomy) == 1)
        return last

    def sets(self, posterior: Posterior) -> list[list[int]]:
        """Nodes of each answer, without those above others of it, the most probable first."""
        rows, nodes = np.nonzero(self.deepest(posterior))
        order = np.lexsort((nodes, -posterior.each_node[rows, nodes], rows))
        ends = np.searchsorted(rows, np.arange(1, len(posterior)))
        return [part.tolist() for part in np.split(nodes[order], ends)] if len(posterior) else []

    def __call__(self, posterior: Posterior) -> Decision:
        """The most probable of the deepest chosen nodes of each sample, else the root."""
        values = np.where(self.deepest(posterior), posterior.each_node, -1.0)
        nodes = np.where(values.max(axis=1, initial=-1.0) >= 0, values.argmax(axis=1), ROOT)
        return self.decision(nodes, posterior)


def level_pairs(
    marginals: NDArray[np.floating], right: NDArray[np.bool_], known: NDArray[np.bool_], nodes: NDArray[np.bool_]
) -> Pairs:
    """The known pairs of M samples and the nodes of a level, a mask of shape (N,)."""
    counted = known[:, nodes]
    probabilities, is_right = marginals[:, nodes][counted].astype(np.float64), right[:, nodes][counted]
    order = np.argsort(-probabilities, kind="stable")
    return Pairs(probabilities[order], np.cumsum(is_right[order]))


def highest_f1(pairs: Pairs) -> float:
    """The threshold of the highest F1, the highest such one; `EVEN` where no pair is right."""
    if not len(pairs.hits) or not pairs.hits[-1]:
        return EVEN
    f1 = np.where(pairs.is_last, 2 * pairs.hits / (np.arange(1, len(pairs.hits) + 1) + pairs.hits[-1]), -1.0)
    return float(pairs.probabilities[f1.argmax()])


def least_precise(pairs: Pairs, wanted: float) -> float:
    """The lowest threshold at which the share of right pairs is at least the wanted one; `NEVER` if there is none."""
    enough = pairs.is_last & (pairs.hits >= wanted * np.arange(1, len(pairs.hits) + 1))
    return float(pairs.probabilities[np.flatnonzero(enough)[-1]]) if enough.any() else NEVER
