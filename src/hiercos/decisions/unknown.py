"""The rule `unknown`: answers for inputs that may belong to no class, only as deep as they look known."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.base import RULES, NodeRule, RuleError
from hiercos.decisions.chains import Chains, likeliest_chains
from hiercos.decisions.decision import Decision
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray, label_indices

SCORES = ("energy", "probability")
FEWEST = 20  # held-out samples to choose thresholds on


@RULES.register("unknown")
@dataclass(frozen=True)
class UnknownAware(NodeRule):
    """The deepest node of the chain of likeliest children that looks known, so that an unknown species of a known
    genus is answered with the genus, and an input of no known kind with the root.

    A class looks known if its score reaches a threshold. The score is its probability, or its energy score / T, which
    falls for inputs unlike any class. Otherwise the answer is the deepest inner node whose probability reaches the
    threshold of its level, or the root. `fit` makes unknown samples from the held-out ones: it leaves out the own class
    of each, its own parent, and so on up to level 1. It takes the threshold at which the share `keep` of the held-out
    samples keeps its class; then, on the unknown samples that lose theirs, the lowest thresholds of the levels with
    which the share `right` of the inner nodes is right. Of the two scores it takes the one with more right inner nodes.

    Args:
        keep: share of known samples that keep their answer.
        right: share of the inner nodes of a level that are right, if they are answered to samples of unknown classes,
            genera, and so on, each as often.
        score: "energy" or "probability"; set by `fit`.
        of_class: least score of a class; None before `fit`.
        of_levels: least probability of an inner node of each level, from level 1; set by `fit`.

    Raises:
        RuleError: for a share that is not between 0 and 1.
    """

    keep: float = 0.95
    right: float = 0.7
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
        lengths = (chains.nodes >= 0).sum(axis=1)
        sure = (chains.probabilities >= np.array(self.of_levels)) & chains.inner
        deepest = np.where(sure, np.arange(1, sure.shape[1] + 1), 0).max(axis=1)
        known = class_scores(posterior, self.score) >= self.of_class
        return self.decision(chains.down_to(np.where(known, lengths, deepest)), posterior)

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with its score and thresholds from held-out samples; see `Rule.fit`.

        Raises:
            RuleError: for fewer than 20 samples.
        """
        if len(posterior) < FEWEST:
            raise RuleError(f"rule 'unknown': expected at least {FEWEST} held-out samples, got {len(posterior)}")
        unknown = [left_out(posterior, labels, level) for level in range(1, posterior.taxonomy.height + 1)]
        fitted = [self._fitted(score, posterior, unknown) for score in SCORES]
        return max(fitted, key=lambda rule: sum(rule._share_right_inside(part) for part in unknown))

    def _fitted(self, score: str, known: Posterior, unknown: list["LeftOut"]) -> Self:
        """The rule with a given score and its thresholds."""
        rank = int(np.floor(round((1 - self.keep) * len(known), 9)))
        of_class = float(np.sort(class_scores(known, score))[rank])
        rejected = [part.rows(np.flatnonzero(class_scores(part.posterior, score) < of_class)) for part in unknown]
        probabilities = np.concatenate([part.chains.probabilities for part in rejected])  # (K, H)
        inner = np.concatenate([part.chains.inner for part in rejected])
        right = np.concatenate([part.right for part in rejected])
        weights = np.concatenate([np.full(len(part.labels), 1 / max(1, len(part.labels))) for part in rejected])
        of_levels = [
            _lowest_threshold(probabilities[rows, level], right[rows, level], weights[rows], self.right)
            for level, rows in enumerate(inner.T)
        ]
        return replace(self, score=score, of_class=of_class, of_levels=tuple(of_levels))

    def _share_right_inside(self, part: "LeftOut") -> float:
        """Share of samples of unknown nodes that are answered at a right inner node."""
        levels = self(part.posterior).levels
        found = np.take_along_axis(part.right, np.maximum(levels - 1, 0)[:, None], axis=1)[:, 0] & (levels > 0)
        return float(found.mean()) if len(found) else 0.0


@dataclass(frozen=True)
class LeftOut:
    """Samples whose own node of a level was left out, so that they are unknown from this level on.

    Attributes:
        posterior: their probabilities of the other classes, K samples.
        labels: true node of each sample, shape (K,).
        level: level of the nodes that were left out.
    """

    posterior: Posterior
    labels: IntArray
    level: int

    @cached_property
    def chains(self) -> Chains:
        """Chains of likeliest children."""
        return likeliest_chains(self.posterior)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each node of the chains is above the one that was left out, shape (K, H)."""
        paths = self.posterior.taxonomy.path_table(self.labels)
        is_right: NDArray[np.bool_] = (self.chains.nodes == paths) & (np.arange(1, paths.shape[1] + 1) < self.level)
        return is_right

    def rows(self, chosen: IntArray) -> "LeftOut":
        """The chosen samples."""
        return LeftOut(self.posterior.rows(chosen), self.labels[chosen], self.level)


def left_out(posterior: Posterior, labels: IntArray, level: int) -> LeftOut:
    """The samples with a label at this level or below, each without the classes below its own node of the level.

    Samples for which no class is left are dropped.

    Args:
        posterior: probabilities of M samples.
        labels: true node of each sample, shape (M,).
        level: level of the nodes that are left out, from 1.
    """
    taxonomy = posterior.taxonomy
    own = taxonomy.path_table(labels)[:, level - 1]
    allowed = taxonomy.path_table(taxonomy.leaves)[:, level - 1] != own[:, None]  # (M, C)
    rows = np.flatnonzero((own >= 0) & ((posterior.classes * allowed).sum(axis=1) > 0))
    return LeftOut(posterior.rows(rows).reweighted(allowed[rows]), labels[rows], level)


def _lowest_threshold(probabilities: Floats, right: NDArray[np.bool_], weights: Floats, share: float) -> float:
    """The lowest probability such that this share of the samples that reach it is right, by weight; 1 without one."""
    order = np.argsort(-probabilities, kind="stable")
    precision = np.cumsum((right * weights)[order]) / np.cumsum(weights[order])
    last = np.append(np.diff(probabilities[order]) < 0, True)[: len(order)]  # of equal probabilities
    enough = np.flatnonzero(last & (precision >= share))
    return float(probabilities[order[enough[-1]]]) if len(enough) else 1.0


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


def separation(known: Floats, unknown: Floats) -> float:
    """Area under the ROC curve: the probability that a known sample scores higher than an unknown one, ties half."""
    ordered = np.sort(unknown)
    below = np.searchsorted(ordered, known, side="left") + np.searchsorted(ordered, known, side="right")
    return float(below.mean() / (2 * len(unknown)))
