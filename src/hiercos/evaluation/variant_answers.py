"""Test answers of one run under a rule, read from its folder; importing this module does not import torch."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions import Posterior, Rule, rule, rule_from_dict
from hiercos.records import Record
from hiercos.taxonomy import FloatArray, IntArray, Taxonomy, ancestor_matrix

BoolArray = NDArray[np.bool_]


def rule_of(record: Record) -> Rule:
    """The rule that a record of a run was measured with."""
    return rule("none") if record.fitted_rule is None else rule_from_dict(record.fitted_rule)


@dataclass(frozen=True, eq=False)
class VariantAnswers:
    """Test answers of one run under a rule."""

    name: str  # name of the variant
    method: str  # name of its method
    rule: Rule  # rule that answers and ranks
    posterior: Posterior  # posterior of M test samples
    labels: IntArray  # true class of each, shape (M,)
    # row of each in the split, shape (M,); from 0 to M - 1 by default
    rows: IntArray = None  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        if self.rows is None:
            object.__setattr__(self, "rows", np.arange(len(self.labels)))

    @classmethod
    def read(cls, record: Record, folder: Path, *, held_out: bool = False) -> "VariantAnswers":
        """The answers of a finished run under the rule of a record, from the stored scores in its folder.

        Samples labelled with an inner node are left out. `held_out` is for the held-out samples instead of those of the
        test split.
        """
        from hiercos.training import tested_run  # imports torch

        tested = tested_run(folder, held_out=held_out)
        rows = np.flatnonzero(tested.labels < tested.posterior.taxonomy.num_classes)
        decided, posterior = rule_of(record), tested.posterior.rows(rows)
        return cls(record.name, record.method, decided, posterior, tested.labels[rows], rows)

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the classes."""
        return self.posterior.taxonomy

    @cached_property
    def nodes(self) -> IntArray:
        """Answered node of each sample, shape (M,); -1 for the root."""
        return np.concatenate([self.rule(batch).nodes for batch in self.posterior.batches()])

    @cached_property
    def paths(self) -> IntArray:
        """Nodes from level 1 down to each answer, shape (M, H), -1 beyond its depth."""
        return self.taxonomy.path_table(self.nodes)

    @cached_property
    def true_paths(self) -> IntArray:
        """Nodes from level 1 down to each true class, shape (M, H), -1 beyond its depth."""
        return self.taxonomy.path_table(self.taxonomy.leaves[self.labels])

    @cached_property
    def is_wrong(self) -> BoolArray:
        """Whether each answer is another node than the true class, shape (M,)."""
        wrong: BoolArray = self.nodes != self.taxonomy.leaves[self.labels]
        return wrong

    @cached_property
    def distances(self) -> IntArray:
        """Distance of each answer, H minus the ancestors shared with the truth, 0 where it is right, shape (M,)."""
        above, truth = ancestor_matrix(self.taxonomy), self.taxonomy.leaves[self.labels]
        shared = above[np.maximum(self.nodes, 0)].multiply(above[truth]).sum(axis=1).astype(np.int64)
        shared[self.nodes < 0] = 0  # the root
        return np.where(self.is_wrong, self.taxonomy.most_ancestors - shared, 0)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Probability of each answer, shape (M,)."""
        batches = zip(self.posterior.batches(), in_batches(self.nodes, self.posterior), strict=True)
        return np.concatenate([batch.of_nodes(nodes) for batch, nodes in batches])


def shared_depth(paths: IntArray, others: IntArray) -> IntArray:
    """Number of common nodes of paths, the depth of the lowest common ancestor: (..., H) -> (...)."""
    found: IntArray = ((paths == others) & (paths >= 0)).sum(axis=-1)
    return found


def in_batches(values: IntArray, posterior: Posterior) -> list[IntArray]:
    """Values of the samples, split like the batches of their posterior."""
    sizes = [len(batch) for batch in posterior.batches()]
    return np.split(values, np.cumsum(sizes)[:-1])
