"""Top-1, AHD@1, HOPS and log loss of each test or held-out sample of a run; paired differences over these rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np
import torch

from hiercos.decisions import ROWS_AT_ONCE, Posterior, Rule
from hiercos.evaluation.resampling import bootstrap_interval
from hiercos.evaluation.variant_answers import VariantAnswers, rule_of
from hiercos.metrics import functional as HF
from hiercos.records import RUNS, Record
from hiercos.taxonomy import FloatArray, IntArray
from hiercos.training import tested_run

NORMAL = 1.96  # quantile of the normal distribution for an interval of 95%
ANSWER_METRICS = ("top1", "ahd_at_1")  # columns of `answer_rows`
POSTERIOR_METRICS = ("hops", "log_loss")  # columns of `posterior_rows`, which take longer


def answer_rows(folder: Path, rule_name: str, *, held_out: bool = False) -> FloatArray:
    """Top-1 and AHD@1 of each test sample of a finished run that is labelled with a class, from its stored scores.

    Args:
        folder: folder of the run.
        rule_name: name of the decision rule that answers.
        held_out: whether to take the held-out samples instead of those of the test split.

    Returns:
        1 for a right answer and 0 for a wrong one, then the tree distance of the answer; shape (M, 2).
    """
    found = VariantAnswers.read(Record.read(folder, rule_name), folder, held_out=held_out)
    return np.stack([~found.is_wrong, found.distances], axis=1).astype(np.float64)


def posterior_rows(folder: Path, rule_name: str, *, held_out: bool = False) -> FloatArray:
    """HOPS of the ranking and log loss of each test sample of a finished run, from its stored scores.

    As in the metrics of a record, a sample labelled with an inner node counts for the log loss alone.

    Args:
        held_out: whether to take the held-out samples instead of those of the test split.

    Returns:
        Shape (M, 2), nan where a sample does not count.
    """
    tested, decided = tested_run(folder, held_out=held_out), rule_of(Record.read(folder, rule_name))
    posterior, labels, stored, tables = tested.posterior, tested.labels, tested.hops.get(rule_name), []
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


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Metrics of every variant of a comparison on each row, seed by seed, computed on demand."""

    # folder and rule name of each run of a variant, by variant name
    runs: Mapping[str, Sequence[tuple[Path, str]]] = field(default_factory=dict)
    # whether the rows are those held out while the models were trained, instead of the test split
    held_out: bool = False
    # tables of `answer_rows` or `posterior_rows`, shape (S, M, 2), by variant and names of the columns
    tables: dict[tuple[str, tuple[str, str]], FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, records: Sequence[Record], folder: Path, *, held_out: bool = False) -> "AnswerTable":
        """Rows of a comparison in a folder, from the stored scores of its runs."""
        runs: dict[str, list[tuple[Path, str]]] = {}
        for record in sorted(records, key=lambda record: record.seed):
            run = folder / RUNS / record.method / f"seed-{record.seed}"
            runs.setdefault(record.name, []).append((run, record.rule))
        return cls(runs, held_out)

    def values(self, variant: str, metric: str) -> FloatArray:
        """Values of a metric of a variant for each seed and row, shape (S, M), nan where a row does not count.

        Args:
            variant: name of a variant.
            metric: one of `ANSWER_METRICS` or `POSTERIOR_METRICS`.
        """
        columns = ANSWER_METRICS if metric in ANSWER_METRICS else POSTERIOR_METRICS
        if (variant, columns) not in self.tables:
            read = answer_rows if columns is ANSWER_METRICS else posterior_rows
            rows = [read(*run, held_out=self.held_out) for run in self.runs[variant]]
            self.tables[variant, columns] = np.stack(rows)
        return self.tables[variant, columns][:, :, columns.index(metric)]

    def answered(self, records: Sequence[Record]) -> list[Record]:
        """Records with the top-1 and AHD@1 of their answers in place of those of their rankings.

        They differ for rules that answer with inner nodes.
        """
        seeds = sorted({record.seed for record in records})
        found = []
        for record in records:
            own = {name: self.values(record.name, name)[seeds.index(record.seed)] for name in ANSWER_METRICS}
            metrics = {**record.metrics, **{name: float(values.mean()) for name, values in own.items()}}
            found.append(replace(record, metrics=metrics))
        return found

    def spread(self) -> dict[str, dict[str, float]]:
        """Half-widths of the 95% intervals of each variant's means over the rows, by variant and metric."""
        found: dict[str, dict[str, float]] = {variant: {} for variant in self.runs}
        for variant, metric in product(found, ANSWER_METRICS):
            rows = self.values(variant, metric).mean(axis=0)
            found[variant][metric] = float(NORMAL * rows.std() / np.sqrt(len(rows)))
        return found

    def difference(self, ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        """Mean difference of a metric between two variants over the rows, and its 95% bootstrap interval.

        Args:
            ours: name of a variant.
            reference: name of the variant to subtract.
            metric: one of `ANSWER_METRICS` or `POSTERIOR_METRICS`.
        """
        gap = (self.values(ours, metric) - self.values(reference, metric)).mean(axis=0)
        found = bootstrap_interval(gap[:, None])
        return float(found.mean[0]), float(found.low[0]), float(found.high[0])
