"""Likeliest node of every level of a tree, its confidence, and how often it is right in bins of confidence."""

from typing import NamedTuple

import numpy as np

from hiercos.decisions import Posterior
from hiercos.taxonomy import FloatArray, IntArray, Taxonomy

BINS = 10  # bins of confidence, of equal width


class LevelAnswers(NamedTuple):
    """Likeliest node of every level for M samples; see `level_answers`."""

    confidence: FloatArray  # probability of the likeliest node, shape (M, H)
    right: FloatArray  # 1 if it is the true one and 0 if not, shape (M, H); nan where the label does not say


class ReliabilityBins(NamedTuple):
    """Bins of confidence that have samples, K of them; see `reliability_bins`."""

    places: IntArray  # number of each bin, shape (K,); bin i holds confidences above i / BINS and up to (i + 1) / BINS
    samples: IntArray  # number of samples, shape (K,)
    confidence: FloatArray  # mean confidence, shape (K,)
    accuracy: FloatArray  # share of right answers, shape (K,)

    @property
    def error(self) -> float:
        """Expected calibration error: mean over the samples of |confidence - accuracy| of their bin."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.samples))


def nodes_by_level(nodes: IntArray, taxonomy: Taxonomy) -> IntArray:
    """Node at each level of the paths of nodes, shape (M, H); a class is its own node at all levels below it.

    Beyond the depth of an inner node, and for the root (-1), the entries are -1.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("plant",)])
        >>> nodes_by_level(np.array([2, 1, 0, -1]), t).tolist()  # cat, plant, pet, and the root
        [[0, 2], [1, 1], [0, -1], [-1, -1]]
    """
    paths = taxonomy.path_table(nodes)
    ends_above = (paths < 0) & (taxonomy.classes_of(nodes) >= 0)[:, None]
    return np.where(ends_above, nodes[:, None], paths)


def level_answers(posterior: Posterior, nodes: IntArray) -> LevelAnswers:
    """Likeliest node of every level, and whether it is right.

    A class that ends above a level is its own node there, so that the nodes of a level share out all classes: the
    confidence of a calibrated posterior is then the share of right answers at every level of any tree.

    Args:
        posterior: probabilities of M samples over a tree; of equally likely nodes the lower one counts.
        nodes: label of each sample as a node, -1 for the root, shape (M,). A label at an inner node says nothing about
            the levels below it.
    """
    taxonomy, true = posterior.taxonomy, nodes_by_level(nodes, posterior.taxonomy)
    choices = [np.unique(column) for column in nodes_by_level(taxonomy.leaves, taxonomy).T]
    confidence, likeliest, start = np.empty(true.shape), np.empty_like(true), 0
    for batch in posterior.batches():
        rows = slice(start, start + len(batch))
        start = rows.stop
        for level, choice in enumerate(choices):
            block = np.minimum(batch.nodes[:, choice], 1.0)  # sums may exceed 1 by rounding
            confidence[rows, level], likeliest[rows, level] = block.max(axis=1), choice[block.argmax(axis=1)]
    return LevelAnswers(confidence, np.where(true < 0, np.nan, likeliest == true))


def reliability_bins(confidence: FloatArray, right: FloatArray) -> ReliabilityBins:
    """Mean confidence and share of right answers in bins of confidence; a confidence of 0 is in the first bin.

    Args:
        confidence: confidence of S answers, from 0 to 1, shape (S,).
        right: 1 for a right answer and 0 for a wrong one, shape (S,).
    """
    bins = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    samples = np.bincount(bins, minlength=BINS)
    places = np.flatnonzero(samples)
    means = (np.bincount(bins, each, minlength=BINS)[places] / samples[places] for each in (confidence, right))
    return ReliabilityBins(places, samples[places], *means)
