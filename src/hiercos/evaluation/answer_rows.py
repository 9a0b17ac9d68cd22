"""Top-1, AHD@1, HOPS and log loss of each test sample of a run; paired differences over these rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from hiercos.decisions import ROWS_AT_ONCE, Decision, Posterior, Rule
from hiercos.evaluation.resampling import bootstrap_means, percentiles, sample_means
from hiercos.evaluation.variant_answers import rule_of
from hiercos.metrics import functional as HF
from hiercos.records import RUNS, Record
from hiercos.taxonomy import FloatArray, IntArray, Taxonomy, ancestor_matrix
from hiercos.training import tested_run

NORMAL = 1.96  # quantile of the normal distribution for an interval of 95%
ANSWER_METRICS = ("top1", "ahd_at_1")  # columns of `answer_rows`
POSTERIOR_METRICS = ("hops", "log_loss")  # columns of `posterior_rows`, which take longer


def answer_rows(folder: Path, rule_name: str) -> FloatArray:
    """Top-1 and AHD@1 of each test sample of a finished run, from its stored scores.

    Args:
        folder: folder of the run.
        rule_name: name of the decision rule that answers.

    Returns:
        1 for a right answer and 0 for a wrong one, then the tree distance of the answer; shape (M, 2).
    """
    tested = tested_run(folder)
    decision = rule_of(Record.read(folder, rule_name))(tested.posterior)
    return top1_and_distances(decision, tested.labels, tested.posterior.taxonomy)


def posterior_rows(folder: Path, rule_name: str) -> FloatArray:
    """HOPS of the ranking and log loss of each test sample of a finished run, from its stored scores.

    As in the metrics of a record, a sample labelled with an inner node counts for the log loss alone.

    Args:
        folder: folder of the run.
        rule_name: name of the decision rule that ranks the classes.

    Returns:
        Shape (M, 2), nan where a sample does not count.
    """
    tested, decided = tested_run(folder), rule_of(Record.read(folder, rule_name))
    posterior, labels, stored, tables = tested.posterior, tested.labels, tested.hops(decided), []
    for start, batch in zip(range(0, len(labels), ROWS_AT_ONCE), posterior.batches(ROWS_AT_ONCE), strict=True):
        rows = slice(start, start + len(batch))
        hops = _hops(decided, batch, labels[rows]) if stored is None else stored[rows]
        loss = HF.log_loss(torch.from_numpy(batch.logs), torch.from_numpy(labels[rows]), posterior.taxonomy)
        tables.append(np.stack([hops, loss.numpy()], axis=1))
    return np.concatenate(tables)


def _hops(decided: Rule, posterior: Posterior, labels: IntArray) -> FloatArray:
    """HOPS of each sample under a rule, shape (M,), nan for one that is labelled with an inner node."""
    known = labels < posterior.taxonomy.num_classes
    hops = np.full(len(labels), np.nan)
    ranking, true = torch.from_numpy(decided.ranking(posterior)[known]), torch.from_numpy(labels[known])
    hops[known] = HF.hops(ranking, true, posterior.taxonomy).numpy()
    return hops


def top1_and_distances(decision: Decision, labels: IntArray, taxonomy: Taxonomy) -> FloatArray:
    """Top-1 and AHD@1 of the answers to samples labelled with a class; an inner node is never right.

    Args:
        decision: answers of M samples.
        labels: label of each sample, shape (M,); those of inner nodes are left out.
        taxonomy: taxonomy of the classes.

    Returns:
        Shape (number of samples labelled with a class, 2).
    """
    is_class = labels < taxonomy.num_classes
    answers, leaves = decision.nodes[is_class], taxonomy.leaves[labels[is_class]]
    ancestors, answered = ancestor_matrix(taxonomy), answers >= 0
    shared = np.zeros(len(answers))
    shared[answered] = ancestors[answers[answered]].multiply(ancestors[leaves[answered]]).sum(axis=1)
    right = answers == leaves
    return np.stack([right, np.where(right, 0, taxonomy.most_ancestors - shared)], axis=1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Rows of every variant of a comparison, the mean over its seeds.

    Attributes:
        rows: table of `answer_rows` by variant name, shape (M, 2) each, of the same test samples.
        runs: folder and rule name of each run of a variant, by variant name; `posterior_rows` are computed from them on
            demand.
        announce: function called with the name of a variant before its `posterior_rows` are computed, which takes long
            for many classes; None for none.
        seed_means: means of `answer_rows` of each run, shape (2,), by variant name and seed.
    """

    rows: Mapping[str, FloatArray]
    runs: Mapping[str, Sequence[tuple[Path, str]]] = field(default_factory=dict)
    announce: Callable[[str], None] | None = None
    seed_means: Mapping[tuple[str, int], FloatArray] = field(default_factory=dict)
    _posterior_rows: dict[str, FloatArray] = field(default_factory=dict, init=False, repr=False, compare=False)
    _draws: dict[tuple[str, tuple[str, ...]], FloatArray] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of(
        cls, records: Sequence[Record], folder: Path, *, announce: Callable[[str], None] | None = None
    ) -> "AnswerTable":
        """Rows of a comparison in a folder, from the stored scores of its runs."""
        runs: dict[str, list[tuple[Path, str]]] = {}
        tables: dict[str, list[FloatArray]] = {}
        means = {}
        for record in records:
            run = folder / RUNS / record.method / f"seed-{record.seed}"
            runs.setdefault(record.name, []).append((run, record.rule))
            tables.setdefault(record.name, []).append(answer_rows(run, record.rule))
            means[record.name, record.seed] = tables[record.name][-1].mean(axis=0)
        return cls({name: np.mean(own, axis=0) for name, own in tables.items()}, runs, announce, means)

    def answered(self, records: Sequence[Record]) -> list[Record]:
        """Records with the top-1 and AHD@1 of their answers in place of those of their rankings.

        They differ for rules that answer with inner nodes.
        """
        found = {key: dict(zip(ANSWER_METRICS, means.tolist(), strict=True)) for key, means in self.seed_means.items()}
        return [replace(record, metrics={**record.metrics, **found[record.name, record.seed]}) for record in records]

    def _table(self, variant: str, columns: tuple[str, ...]) -> FloatArray:
        """Values of a variant, the mean over its seeds, one column for each metric, shape (M, 2)."""
        if columns is ANSWER_METRICS:
            return self.rows[variant]
        if variant not in self._posterior_rows:
            if self.announce is not None:
                self.announce(variant)
            self._posterior_rows[variant] = np.mean([posterior_rows(*run) for run in self.runs[variant]], axis=0)
        return self._posterior_rows[variant]

    def _means(self, variant: str, columns: tuple[str, ...]) -> FloatArray:
        """Means of a variant over bootstrap resamples, the same for all variants, shape (resamples, 2)."""
        if (variant, columns) not in self._draws:
            self._draws[variant, columns] = bootstrap_means(self._table(variant, columns))
        return self._draws[variant, columns]

    def spread(self) -> dict[str, dict[str, float]]:
        """Half-widths of the 95% intervals of each variant's means over the test rows, by variant and metric."""
        return {
            variant: {
                metric: float(NORMAL * values.std() / np.sqrt(len(values)))
                for metric, values in zip(ANSWER_METRICS, rows.T, strict=True)
            }
            for variant, rows in self.rows.items()
        }

    def difference(self, ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        """Mean difference of a metric between two variants over the test rows, and its 95% bootstrap interval.

        Args:
            ours: name of a variant.
            reference: name of the variant to subtract.
            metric: one of `ANSWER_METRICS` or `POSTERIOR_METRICS`.
        """
        columns = ANSWER_METRICS if metric in ANSWER_METRICS else POSTERIOR_METRICS
        column = columns.index(metric)
        gap = self._table(ours, columns)[:, column] - self._table(reference, columns)[:, column]
        if not np.nan_to_num(gap).any():  # exactly 0, whatever the rounding of the sums
            return 0.0, 0.0, 0.0
        low, high = percentiles((self._means(ours, columns) - self._means(reference, columns))[:, [column]])
        return float(sample_means(gap[:, None])[0]), float(low[0]), float(high[0])
