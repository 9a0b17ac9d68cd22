"""The rule `unknown`: answers for inputs that may belong to no class, only as deep as they look known."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.base import RULES, NodeRule, RuleError
from hiercos.decisions.chains import likeliest_chains
from hiercos.decisions.decision import Decision
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray, is_at_or_above, label_indices

SCORES = ("energy", "probability")
FEWEST = 20  # held-out samples to choose thresholds on


@RULES.register("unknown")
@dataclass(frozen=True)
class UnknownAware(NodeRule):
    """The deepest node of the chain of likeliest children that looks known, so that an unknown species of a known
    genus is answered with the genus, and an input of no known kind with the root.

    A class looks known if its score reaches a threshold. The score is its probability, or its energy score / T, which
    falls for inputs unlike any class. Otherwise the answer is the deepest inner node whose probability reaches the
    threshold of its level, or the root. `fit` leaves out the own class of every held-out sample: that makes samples of
    unknown classes. It takes the threshold at which the share `keep` of the samples keeps its class, for the score that
    then rejects more of the samples without their class, and thresholds of the levels, one half at least, above which
    the share `right` of the samples without their class has the right inner node.

    Args:
        keep: share of known samples that keep their answer.
        right: share of the answers with inner nodes that are right for samples of unknown classes.
        score: "energy" or "probability"; set by `fit`.
        of_class: least score of a class; None before `fit`.
        of_levels: least probability of an inner node of each level, from level 1; set by `fit`.

    Raises:
        RuleError: for a share that is not between 0 and 1.
    """

    keep: float = 0.95
    right: float = 0.8
    score: str = "energy"
    of_class: float | None = None
    of_levels: tuple[float, ...] = ()
    fitted = ("score", "of_class", "of_levels")

    def __post_init__(self) -> None:
        for name in ("keep", "right"):
            if not 0 < getattr(self, name) < 1:
                raise RuleError(f"rule 'unknown': expected {name} above 0 and below 1, got {getattr(self, name)}")
        object.__setattr__(self, "of_levels", tuple(self.of_levels))

    def __call__(self, posterior: Posterior) -> Decision:
        """The deepest node of each sample's chain that looks known."""
        if self.of_class is None:
            raise RuleError("rule 'unknown': expected a rule fitted on held-out samples, as by train --rule unknown")
        chains = likeliest_chains(posterior)
        thresholds = np.array(self.of_levels)[posterior.taxonomy.depths[chains.nodes] - 1]  # (M, H)
        deepest = chains.deepest((chains.probabilities >= thresholds) & chains.is_inner)
        known = class_scores(posterior, self.score) >= self.of_class
        return self.decision(chains.down_to(np.where(known, chains.lengths, deepest)), posterior)

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with its score and thresholds from held-out samples; see `Rule.fit`.

        Raises:
            RuleError: for fewer than 20 samples.
        """
        if len(posterior) < FEWEST:
            raise RuleError(f"rule 'unknown': expected at least {FEWEST} held-out samples, got {len(posterior)}")
        without = without_own_class(posterior, labels)
        pairs = {name: [class_scores(each, name) for each in (posterior, without)] for name in SCORES}
        rank = int(np.floor(round((1 - self.keep) * len(posterior), 9)))
        thresholds = {name: float(np.sort(known)[rank]) for name, (known, _) in pairs.items()}
        score = max(SCORES, key=lambda name: float(np.mean(pairs[name][1] < thresholds[name])))
        chains, taxonomy = likeliest_chains(without), posterior.taxonomy
        levels, right = taxonomy.depths[chains.nodes], is_at_or_above(chains.nodes, labels, taxonomy)  # (M, H) each
        at_levels = [chains.is_inner & (levels == level) for level in range(1, taxonomy.height + 1)]
        of_levels = [_right_above(chains.probabilities[own], right[own], self.right) for own in at_levels]
        return replace(self, score=score, of_class=thresholds[score], of_levels=tuple(of_levels))


def _right_above(probabilities: Floats, right: NDArray[np.bool_], share: float) -> float:
    """The lowest probability, one half at least, from which on a share of the answers is right; 1 if there is none."""
    order = np.argsort(-probabilities, kind="stable")
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(precision >= share)
    return max(float(probabilities[order[enough[-1]]]), 0.5) if len(enough) else 1.0


def class_scores(posterior: Posterior, score: str) -> Floats:
    """Score of the class at the end of each sample's chain, by "energy" or "probability", shape (M,)."""
    chains = likeliest_chains(posterior)
    ends = chains.down_to(np.full(len(posterior), chains.nodes.shape[1]))
    classes = label_indices(ends, posterior.taxonomy)[:, None]
    if score == "probability":
        return np.take_along_axis(posterior.classes, classes, axis=1)[:, 0]
    temperature = posterior.temperature
    logits = posterior.logs if temperature is None else posterior.scores.astype(np.float64) / temperature
    return np.take_along_axis(logits, classes, axis=1)[:, 0]


def without_own_class(posterior: Posterior, labels: IntArray) -> Posterior:
    """The posterior of each sample over the other classes than its own; unchanged for labels at inner nodes."""
    taxonomy = posterior.taxonomy
    weights = np.ones(posterior.classes.shape)
    classes = label_indices(labels, taxonomy)
    rows = np.flatnonzero(classes < taxonomy.num_classes) if taxonomy.num_classes > 1 else np.empty(0, dtype=np.int64)
    weights[rows, classes[rows]] = 0.0
    return posterior.reweighted(weights)


def separation(known: Floats, unknown: Floats) -> float:
    """Area under the ROC curve: the probability that a known sample scores higher than an unknown one, ties half."""
    ordered = np.sort(unknown)
    below = np.searchsorted(ordered, known, side="left") + np.searchsorted(ordered, known, side="right")
    return float(below.mean() / (2 * len(unknown)))
