"""The rule `unknown`: answers for inputs that may belong to no class, only as deep as they look known."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.base import Decision, NodeRule, RuleError
from hiercos.decisions.chains import Chains, likeliest_chains
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray, Taxonomy, ancestor_matrix, is_at_or_above, label_indices

SCORES = ("energy", "probability")
FEWEST = 20  # held-out samples to choose thresholds on


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
        right: share of the inner nodes answered at a level that are right for unknown samples; those without their
            class, those without its parent, and so on, weigh the same in total.
        score: "energy" or "probability"; set by `fit`.
        of_class: least score of a class; None before `fit`.
        of_levels: least probability of an inner node of each level, from level 1; set by `fit`.

    Raises:
        RuleError: for a share that is not between 0 and 1.
    """

    name = "unknown"

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
        thresholds = np.array(self.of_levels)[posterior.taxonomy.depths[chains.nodes] - 1]  # (M, H)
        deepest = chains.deepest((chains.probabilities >= thresholds) & chains.is_inner)
        known = known_class_scores(posterior, self.score) >= self.of_class
        return self.decision(chains.down_to(np.where(known, chains.lengths, deepest)), posterior)

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with its score and thresholds from held-out samples; see `Rule.fit`.

        Raises:
            RuleError: for fewer than 20 samples.
        """
        if len(posterior) < FEWEST:
            raise RuleError(f"rule 'unknown': expected at least {FEWEST} held-out samples, got {len(posterior)}")
        unknown = [left_out(posterior, nodes) for nodes in _unknown_nodes(labels, posterior.taxonomy)]
        fitted = [self._fitted(score, posterior, unknown) for score in SCORES]
        return max(fitted, key=lambda rule: sum(rule._share_right_inside(part) for part in unknown))

    def _fitted(self, score: str, known: Posterior, unknown: list["LeftOut"]) -> Self:
        """The rule with a given score and its thresholds."""
        rank = int(np.floor(round((1 - self.keep) * len(known), 9)))
        of_class = float(np.sort(known_class_scores(known, score))[rank])
        rejected = [part.rows(np.flatnonzero(known_class_scores(part.posterior, score) < of_class)) for part in unknown]
        probabilities = np.concatenate([part.chains.probabilities for part in rejected])  # (K, H)
        inner = np.concatenate([part.chains.is_inner for part in rejected])
        levels = known.taxonomy.depths[np.concatenate([part.chains.nodes for part in rejected])]
        right = np.concatenate([part.right for part in rejected])
        weights = np.concatenate([np.full(part.right.shape, 1 / max(1, len(part.nodes))) for part in rejected])
        at_levels = [inner & (levels == level) for level in range(1, known.taxonomy.height + 1)]
        of_levels = [_lowest_threshold(probabilities[own], right[own], weights[own], self.right) for own in at_levels]
        return replace(self, score=score, of_class=of_class, of_levels=tuple(of_levels))

    def _share_right_inside(self, part: "LeftOut") -> float:
        """Share of samples of unknown nodes that are answered at a right inner node."""
        answers = self(part.posterior).nodes
        right = is_at_or_above(answers[:, None], part.nodes, part.posterior.taxonomy)[:, 0]
        found = right & (answers >= 0) & (answers != part.nodes)
        return float(found.mean()) if len(found) else 0.0


@dataclass(frozen=True)
class LeftOut:
    """Samples whose own node was left out, with all classes below it, so that they are unknown from this node on."""

    posterior: Posterior  # their probabilities of the other classes, K samples
    nodes: IntArray  # node of each sample that was left out, shape (K,)

    @cached_property
    def chains(self) -> Chains:
        """Chains of likeliest children."""
        return likeliest_chains(self.posterior)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each node of the chains is above the one that was left out, shape (K, H)."""
        nodes = self.chains.nodes
        above = is_at_or_above(nodes, self.nodes, self.posterior.taxonomy)
        is_right: NDArray[np.bool_] = above & (nodes >= 0) & (nodes != self.nodes[:, None])
        return is_right

    def rows(self, chosen: IntArray) -> "LeftOut":
        """The chosen samples."""
        return LeftOut(self.posterior.rows(chosen), self.nodes[chosen])


def _unknown_nodes(labels: IntArray, taxonomy: Taxonomy) -> list[IntArray]:
    """Nodes to leave out in turn, shape (M,) each, -1 for none: of every level of a tree; of a graph the label."""
    return list(taxonomy.path_table(labels).T) if taxonomy.is_tree else [labels]


def left_out(posterior: Posterior, nodes: IntArray) -> LeftOut:
    """The samples with a node to leave out, each without the classes at or below it.

    Samples for which no class is left are dropped.

    Args:
        posterior: probabilities of M samples.
        nodes: node of each sample to leave out, shape (M,); -1 for none.
    """
    taxonomy = posterior.taxonomy
    below = ancestor_matrix(taxonomy)[taxonomy.leaves][:, np.maximum(nodes, 0)].T.toarray() > 0  # (M, C)
    rows = np.flatnonzero((nodes >= 0) & ((posterior.classes * ~below).sum(axis=1) > 0))
    return LeftOut(posterior.rows(rows).reweighted(~below[rows]), nodes[rows])


def _lowest_threshold(probabilities: Floats, right: NDArray[np.bool_], weights: Floats, share: float) -> float:
    """The lowest probability such that this share of the samples that reach it is right, by weight; 1 without one."""
    order = np.argsort(-probabilities, kind="stable")
    precision = np.cumsum((right * weights)[order]) / np.cumsum(weights[order])
    last = np.append(np.diff(probabilities[order]) < 0, True)[: len(order)]  # of equal probabilities
    enough = np.flatnonzero(last & (precision >= share))
    return float(probabilities[order[enough[-1]]]) if len(enough) else 1.0


def known_class_scores(posterior: Posterior, score: str) -> Floats:
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
