"""Records as the rows of results.csv, their summary, and the verdict in words.

The summary has one row per variant (a method with a decision rule), with mean and interval over the seeds.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from hiercos.errors import FaultsError, suggestion
from hiercos.metrics import RESULTS, MetricSpec, in_shown_order, metric_spec
from hiercos.records import Record
from hiercos.report.statements import Statement


@dataclass(frozen=True)
class Estimate:
    """A mean with the half-width of its 95% interval; the half-width is nan for a single value."""

    mean: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower bound of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper bound of the interval."""
        return self.mean + self.half_width


def t_interval(values: Sequence[float], *, ddof: int = 1) -> Estimate:
    """Mean and Student's t interval, 95%, over independent values.

    Note:
        The published tables use the population standard deviation (ddof 0), so the half-width for five seeds is
        1.2417 of it; with the sample deviation (ddof 1) it is wider by sqrt(n / (n - 1)).

    Args:
        values: one or more values; nan makes the mean nan.
        ddof: 1 (the default) for the sample deviation, 0 for that of the population.

    Returns:
        The mean and the half-width.
    """
    count = len(values)
    mean = sum(values) / count
    if count == 1:
        return Estimate(mean, math.nan)
    variance = sum((value - mean) ** 2 for value in values) / (count - ddof)
    quantile = float(stats.t.ppf(0.975, count - 1))
    return Estimate(mean, quantile * math.sqrt(variance / count))


ResultRow = Mapping[str, Any]


COLUMNS = in_shown_order(RESULTS)  # columns of tables; results.csv has them in the order of `RESULTS`


def result_row(record: Record) -> dict[str, Any]:
    """One row of results.csv."""
    figures = {spec.name: figure(record, spec.name) for spec in RESULTS}
    return {"method": record.method, "rule": record.rule, "seed": record.seed, **figures}


def figure(record: Record, name: str) -> float:
    """One figure of a record: a metric (nan if it was not measured), the training time or the number of epochs."""
    run = {"train_seconds": record.train_seconds, "epochs": record.epochs}
    return run[name] if name in run else record.metrics.get(name, math.nan)


@dataclass(frozen=True)
class Variant:
    """A method with a decision rule, or with one of its settings: its runs over the seeds, one row of a table."""

    name: str  # name in the table
    records: tuple[Record, ...]  # records, one per seed, in the order of the seeds

    @property
    def uses_tree(self) -> bool:
        """Whether the method learns from the taxonomy."""
        return self.records[0].uses_tree

    @property
    def has_rule(self) -> bool:
        """Whether a decision rule ranks the classes."""
        return self.records[0].rule != "none"

    def values(self, name: str) -> list[float]:
        """The values of a figure, one per seed."""
        return [figure(record, name) for record in self.records]

    def estimate(self, name: str) -> Estimate:
        """Mean and 95% interval of a figure over the seeds."""
        return t_interval(self.values(name))

    def difference(self, reference: "Variant", name: str) -> Estimate:
        """Mean paired difference of a figure from the reference's, with its 95% interval."""
        return t_interval([a - b for a, b in zip(self.values(name), reference.values(name), strict=True)])


def summarize(records: Iterable[Record]) -> list[Variant]:
    """The variants of some records, in the order of appearance."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.name, []).append(record)
    return [variant_of(name, group) for name, group in groups.items()]


def variant_of(name: str, records: Iterable[Record]) -> Variant:
    """A variant from records with the same settings, sorted by seed."""
    return Variant(name, tuple(sorted(records, key=lambda record: record.seed)))


class ReferenceVariantError(FaultsError):
    """A reference that is not among the compared variants."""


def checked_reference(name: str, names: Collection[str]) -> str:
    """The table name of the reference given by the user: a method, or a method and a rule joined by a plus.

    Example:
        >>> checked_reference("cross-entropy+crm", ["cross-entropy", "cross-entropy + crm"])
        'cross-entropy + crm'
    """
    spaced = " + ".join(part.strip() for part in name.split("+"))
    if spaced not in names:
        raise ReferenceVariantError(f"--reference {name}: not among the compared variants{suggestion(spaced, names)}")
    return spaced


def best_flat_variant(variants: Sequence[Variant]) -> Variant | None:
    """The variant with the best mean top-1 among those that use the tree neither in training nor in a rule, if any."""
    flat = [variant for variant in variants if not variant.uses_tree and not variant.has_rule]
    return max(flat, key=lambda variant: variant.estimate("top1").mean, default=None)


def verdict(variants: Sequence[Variant], *, runs: str = "seeds") -> Statement:
    """Gain or loss in HOPS and top-1 from using the tree, compared with the most accurate flat method.

    It covers the best variant that learns with the tree and the best variant with a decision rule.

    Args:
        variants: variants of a comparison.
        runs: word for the runs of a variant, "seeds" or "draws".

    Returns:
        One sentence; it says so if nothing was gained or nothing can be compared.
    """
    reference = best_flat_variant(variants)
    learnt = [variant for variant in variants if variant.uses_tree and not variant.has_rule]
    ruled = [variant for variant in variants if variant.has_rule]
    if reference is None or not (learnt or ruled):
        text = "the comparison needs a flat method (cross-entropy) and a hierarchical one."
        return Statement("gain", text, subject="No verdict")
    best = [max(group, key=lambda variant: variant.estimate("hops").mean) for group in (learnt, ruled) if group]
    found = "; ".join(f"{variant.name} {changes(variant, reference, runs=runs)}" for variant in best)
    return Statement("gain", f"{found}.", subject=f"Against {reference.name}, the most accurate flat method")


def changes(ours: Variant, reference: Variant, *, runs: str = "seeds") -> str:
    """The differences of one variant from another in HOPS and top-1, in words, each with its interval over the runs."""
    count = len(ours.records)
    found = [_change(ours.difference(reference, name), metric_spec(name), count, runs) for name in ("hops", "top1")]
    return " and ".join(found)


def _change(difference: Estimate, spec: MetricSpec, count: int, runs: str) -> str:
    """A difference with its interval over the seeds or draws, in words: a gain, a loss, or not significant."""
    name, percent, _ = spec.heading.partition(" %")
    size = spec.text(abs(difference.mean)) + (" points" if percent else "")
    low, high = (spec.text(end, sign="+") for end in (difference.low, difference.high))
    if math.isnan(difference.half_width) or not difference.half_width:
        why = f"one {runs[:-1]}, so no interval" if count == 1 else f"the same for every {runs[:-1]}"
        word = "gains" if difference.mean > 0 else "loses"
        return f"{word} {size} of {name} ({why})" if difference.mean else f"does not change {name} ({why})"
    interval = f"95% interval over {count} {runs} {low} to {high}"
    if difference.low > 0:
        return f"gains {size} of {name} ({interval})"
    if difference.high < 0:
        return f"loses {size} of {name} ({interval})"
    return f"shows no significant difference in {name} ({interval})"
