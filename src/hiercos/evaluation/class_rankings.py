"""Orders of the classes by some variants: distances by rank, mean log-probabilities, and the weights of HOPS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hiercos.evaluation.variant_answers import VariantAnswers, in_batches, shared_depth
from hiercos.taxonomy import (
    FloatArray,
    IntArray,
    Taxonomy,
    decay_weights,
    distance_counts,
    preferred_ranks,
    rank_profiles,
)

MAP_ROWS, MAP_RANKS, GROUPS = 120, 20, 100  # samples and ranks of a map of distances; groups of classes of a matrix


@dataclass(frozen=True, eq=False)
class VariantRankings:
    """Rankings of the classes by some variants, and the one that the tree prefers."""

    # tree distance of the first k classes from the true one, by name of the variant, shape (S, k) each; the same S
    # samples in all, sorted by class in tree order
    distances: Mapping[str, IntArray]
    best: IntArray  # the same for the order that the tree prefers, shape (S, k)
    # mean natural logarithm of the probabilities by method, shape (G, G) each: rows are true classes, columns classes,
    # both in tree order and averaged in G groups of neighbours; nan without samples
    log_probabilities: Mapping[str, FloatArray]
    ideal: FloatArray  # minus the tree distance between the groups, shape (G, G)

    @property
    def worst(self) -> IntArray:
        """The best order reversed, shape (S, k)."""
        return self.best[:, ::-1]


def variant_rankings(variants: Sequence[VariantAnswers]) -> VariantRankings:
    """Rankings of the classes by each variant, of some samples by rank and of all on average."""
    first = variants[0]
    taxonomy, order = first.taxonomy, tree_order(first.taxonomy)
    place = np.argsort(order)
    sorted_rows = np.argsort(place[first.labels], kind="stable")
    rows = sorted_rows[np.linspace(0, len(sorted_rows) - 1, min(MAP_ROWS, len(sorted_rows))).astype(np.int64)]
    groups = np.minimum(np.arange(len(order)) * GROUPS // len(order), len(order) - 1) if len(order) > GROUPS else None
    group_of = place if groups is None else groups[place]  # group of each class in tree order
    middles = order[[int(np.flatnonzero(group_of[order] == group).mean()) for group in range(group_of.max() + 1)]]
    paths = taxonomy.path_table(taxonomy.leaves[middles])
    ideal = -np.where(np.eye(len(middles)) > 0, 0, taxonomy.height - shared_depth(paths[:, None], paths[None]))
    counts = distance_counts(taxonomy, first.labels[rows])
    ranks = min(MAP_RANKS, taxonomy.num_classes)
    best = np.stack([np.repeat(np.arange(taxonomy.height + 1), count)[:ranks] for count in counts])
    by_method = {variant.method: variant for variant in reversed(variants)}  # a rule does not change the probabilities
    return VariantRankings(
        distances={variant.name: rank_distances(variant, rows, ranks) for variant in variants},
        best=best,
        log_probabilities={method: mean_logs(variant, group_of) for method, variant in by_method.items()},
        ideal=ideal.astype(np.float64),
    )


def tree_order(taxonomy: Taxonomy) -> IntArray:
    """The classes sorted along the tree, so that those below a node are neighbours, shape (C,)."""
    return np.lexsort(taxonomy.path_table(taxonomy.leaves)[:, ::-1].T)


def rank_distances(variant: VariantAnswers, rows: IntArray, ranks: int) -> IntArray:
    """Tree distance of the first classes of samples from the true one, shape (S, ranks)."""
    taxonomy = variant.taxonomy
    scores = variant.rule.ranking(variant.posterior.rows(rows))
    classes = np.argsort(-scores, axis=1, kind="stable")[:, :ranks]  # (S, ranks)
    paths = taxonomy.path_table(taxonomy.leaves)
    shared = shared_depth(paths[classes], paths[variant.labels[rows]][:, None])
    return np.where(classes == variant.labels[rows][:, None], 0, taxonomy.height - shared)


def mean_logs(variant: VariantAnswers, group_of: IntArray) -> FloatArray:
    """Mean log-probability of each group of classes for the samples of each group, shape (G, G); nan without samples.

    Args:
        group_of: group of each class, shape (C,), numbered from 0.
    """
    sizes = np.bincount(group_of)
    sums, counts = np.zeros((len(sizes), len(sizes))), np.bincount(group_of[variant.labels], minlength=len(sizes))
    columns = np.argsort(group_of, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for batch, labels in zip(variant.posterior.batches(), in_batches(variant.labels, variant.posterior), strict=True):
        by_group = np.add.reduceat(batch.logs[:, columns], starts, axis=1) / sizes  # (B, G)
        np.add.at(sums, group_of[labels], by_group)
    with np.errstate(invalid="ignore"):
        found: FloatArray = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], np.nan)
    return found


def hops_weights(variant: VariantAnswers) -> FloatArray:
    """Weight of each rank in HOPS for the class with the most test samples, shape (C,)."""
    label = int(np.bincount(variant.labels).argmax())
    profiles = rank_profiles(distance_counts(variant.taxonomy, [label]))
    found: FloatArray = decay_weights(profiles, preferred_ranks(profiles))[0]
    return found
