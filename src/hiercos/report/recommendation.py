"""Which variant of a comparison to ship, and why, in words."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from hiercos.evaluation import chance_of_less, sample_means, unlucky_mean
from hiercos.metrics import metric_spec
from hiercos.records import Record
from hiercos.report.results import Variant, best_flat_variant
from hiercos.report.statements import Statement
from hiercos.taxonomy import FloatArray

WIDE = 0.06  # width of an interval of top-1 from which the verdict says that the test rows are few
GAINS = {"top1": "top-1", "ahd_at_1": "mean tree distance", "hops": "HOPS"}
EFFECTS = {  # in words: better, worse
    "top1": ("more right answers", "fewer right answers"),
    "ahd_at_1": ("answers nearer to the truth", "answers farther from the truth"),
    "hops": ("a better order of the classes", "a worse order of the classes"),
}
CRITERIA = {**GAINS, "log_loss": "log loss"}
PURPOSES = {"distance": "ahd_at_1", "top1": "top1", "hops": "hops"}  # what a model is shipped for, and its metric
MARGIN = 0.003  # of top-1, HOPS and the share of the largest tree distance: what a simpler variant may lose
LOG_LOSS_MARGIN = 0.01  # share of the log loss that a simpler variant may lose
ROUNDING = 1e-9  # what sums of the same values may differ by
RowDifference = Callable[[str, str, str], tuple[float, float, float]]


@dataclass(frozen=True)
class Recommendation:
    """The recommended variant of a comparison."""

    variant: Variant  # recommended variant
    record: Record  # record of the run to ship
    statements: tuple[Statement, ...]  # the recommendation and its reasons


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows that decide."""

    # values (S, M) of one of `CRITERIA` for each seed and row, nan where a row does not count, by the names of
    # variant and metric
    values: Callable[[str, str], FloatArray]
    rows: str  # the rows in words, such as "606 validation rows"
    held_out: bool = True  # whether these are rows other than those of the test split
    _found: dict[tuple[str, str], float] = field(default_factory=dict, init=False, repr=False)

    def loss(self, variant: Variant, name: str) -> float:
        """A metric to expect of one model of a variant if seed and rows are unlucky, with the sign that makes lower
        better; infinite where it is not known.
        """
        if (variant.name, name) not in self._found:
            loss = unlucky_mean(_sign(name) * self.values(variant.name, name))
            self._found[variant.name, name] = math.inf if math.isnan(loss) else loss
        return self._found[variant.name, name]

    def is_within(self, variant: Variant, best: Variant, name: str) -> bool:
        """Whether a variant loses no more than the margin of a metric to another."""
        gap = self.loss(variant, name) - self.loss(best, name)
        margins = {"log_loss": LOG_LOSS_MARGIN * self.loss(best, name), "ahd_at_1": MARGIN * _largest(variant)}
        return not gap > margins.get(name, MARGIN)  # nan where neither is known

    def chance(self, variant: Variant, other: Variant, name: str) -> float:
        """Share of draws of rows and seed in which one model of a variant is better than one of another."""
        return chance_of_less(*(_sign(name) * self.values(each.name, name) for each in (variant, other)))

    def tie_break(self, variant: Variant) -> tuple[float, float]:
        """Log loss, then the tree distance as a share of the largest one less HOPS; lower is better.

        The rules of one method have the same log loss.
        """
        distance = self.loss(variant, "ahd_at_1") / _largest(variant)
        return round(self.loss(variant, "log_loss"), 9), distance + self.loss(variant, "hops")

    def best_seed(self, variant: Variant, name: str) -> Record:
        """Record of the seed with the best mean of a metric; on the test split that with the best validation top-1."""
        if not self.held_out:
            return max(variant.records, key=lambda record: record.validation_top1)
        means = sample_means(_sign(name) * self.values(variant.name, name).T)
        return variant.records[int(np.nanargmin(means))]


def recommend(
    variants: Sequence[Variant], evidence: Evidence, rows: RowDifference, *, tests: int, purpose: str = "distance"
) -> Recommendation:
    """Recommend the variant of which one model is expected to lose the least.

    The loss is the tree distance of the answers, or another of `PURPOSES`: the mean over the worse half of bootstrap
    draws of rows and of one seed, so a variant that varies with the seed is worth less. Of variants within `MARGIN` of
    the best, the one with the lowest log loss is chosen (see `Evidence.tie_break`); and in its place the simplest one
    that loses no more than `MARGIN` and `LOG_LOSS_MARGIN` in any of `CRITERIA`. A variant that is worse than another in
    the mean of one of `CRITERIA` over the test rows, and better in none, is never chosen.

    Args:
        variants: variants of a comparison, with the metrics of the test split.
        evidence: the rows that decide.
        rows: mean difference (first variant minus second) of one of `GAINS` over the test rows, with its interval.
        tests: number of the test rows labelled with a class.
        purpose: one of `PURPOSES`.
    """
    metric = PURPOSES[purpose]
    ranked = sorted(variants, key=lambda variant: evidence.loss(variant, metric))
    left = [variant for variant in ranked if not any(_is_worse(variant, other) for other in variants)]
    near = [variant for variant in left if evidence.is_within(variant, left[0], metric)]
    likely = min(near, key=evidence.tie_break)
    equals = [each for each in left if all(evidence.is_within(each, likely, name) for name in (metric, *CRITERIA))]
    chosen = min(equals, key=lambda variant: (_complexity(variant), variant is not likely))
    record = evidence.best_seed(chosen, metric)
    figures = ", ".join(f"{words} {_text(chosen.estimate(name).mean, name)}" for name, words in CRITERIA.items())
    seeds = f", the mean of {len(chosen.records)} seeds" if len(chosen.records) > 1 else ""
    ship = Statement(
        "ship",
        f"{figures} on {tests} test rows{seeds}.",
        subject=f"Ship {chosen.name}, the model of seed {record.seed}",
        reason=" ".join(_reasons(ranked, left, likely, chosen, metric=metric, evidence=evidence)),
    )
    few = few_rows(chosen.estimate("top1").mean, tests)
    return Recommendation(chosen, record, (ship, *few, *_gain(ranked, chosen, rows)))


def _reasons(
    ranked: Sequence[Variant],
    left: Sequence[Variant],
    likely: Variant,
    chosen: Variant,
    *,
    metric: str,
    evidence: Evidence,
) -> list[str]:
    """At most two sentences: on what was compared, and on why the variant with the smallest loss was not chosen."""
    if len(ranked) == 1:
        return ["It is the only variant."]
    other = next((each for each in left if each is not chosen), ranked[ranked[0] is chosen])
    chance = evidence.chance(chosen, other, metric)
    found = [
        f"It was chosen by {CRITERIA[metric]} on {evidence.rows}; there it is better than {other.name} in {chance:.0%} "
        "of draws of rows and seed."
    ]
    if chosen is not likely:
        found.append(f"It is simpler than {likely.name}, which is hardly better in any column.")
    elif chosen is not left[0]:
        gain = evidence.loss(chosen, metric) - evidence.loss(left[0], metric)
        better = "hardly better" if gain > ROUNDING else "no better"
        found.append(f"{left[0].name} is {better} at that, and its probabilities or its order are worse.")
    elif chosen is not ranked[0]:
        found.append(
            f"{ranked[0].name} is left out: another variant is better on the test rows, and in no column worse."
        )
    return found


def _gain(ranked: Sequence[Variant], chosen: Variant, rows: RowDifference) -> list[Statement]:
    """A statement on the gain of the recommended variant, or else of the best one with the tree, over a flat one."""
    flat = best_flat_variant(ranked) if chosen.uses_tree or chosen.has_rule else chosen
    ours = chosen if chosen is not flat else next((each for each in ranked if each.uses_tree or each.has_rule), None)
    if flat is None or ours is None:
        return []
    found: list[str] = []
    effects: dict[bool, list[str]] = {True: [], False: []}
    for name, words in GAINS.items():
        spec = metric_spec(name)
        gap = rows(ours.name, flat.name, name)
        mean, low, high = (spec.text(value, sign="+") for value in gap)
        if gap[1] > 0 or gap[2] < 0:
            is_worse = gap[0] * _sign(name) > 0
            effects[is_worse].append(EFFECTS[name][is_worse])
        found.append(f"{words} {mean}{' points' * ('%' in spec.heading)} ({low} to {high})")
    effect = (
        ", but ".join(filter(None, (_listed(effects[False]), _listed(effects[True])))) or "nothing that these rows show"
    )
    text = f"{effect}: {ours.name} against {flat.name} has {', '.join(found)}, with 95% intervals over the test rows."
    ruled = [each for each in ranked if each.has_rule and not each.uses_tree and each not in (ours, flat)]
    if ours.uses_tree and ruled:
        best = max(ruled, key=lambda variant: variant.estimate("hops").mean)
        gain = metric_spec("hops").text(rows(best.name, flat.name, "hops")[0], sign="+")
        text += f" A rule alone, {best.name}, has HOPS {gain}."
    return [Statement("tree", text, subject="What the tree brings")]


def _listed(words: Sequence[str]) -> str:
    *first, last = words or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _is_worse(variant: Variant, other: Variant) -> bool:
    """Whether a variant is worse than another in a mean of the criteria over the test rows, and better in none."""
    gaps = [_sign(name) * (variant.estimate(name).mean - other.estimate(name).mean) for name in CRITERIA]
    known = [gap for gap in gaps if not math.isnan(gap)]
    return bool(known) and max(known) > ROUNDING and min(known) >= -ROUNDING


def _complexity(variant: Variant) -> tuple[int, bool]:
    """Sort key by which a variant without tree and rule goes before one with either, and that before one with both."""
    return variant.uses_tree + variant.has_rule, variant.uses_tree


def _largest(variant: Variant) -> float:
    return float(variant.records[0].taxonomy["largest_distance"])


def _sign(name: str) -> int:
    return -1 if metric_spec(name).higher_is_better else 1


def _text(value: float, name: str) -> str:
    spec = metric_spec(name)
    return spec.text(value) + "%" * ("%" in spec.heading)


def few_rows(top1: float, tests: int) -> list[Statement]:
    """A statement on the 95% interval of an accuracy if it is wide; none without test rows.

    Args:
        top1: share of right answers on the test rows.
        tests: number of the test rows labelled with a class.

    Example:
        >>> print(*few_rows(0.9, 100))  # doctest: +ELLIPSIS
        Few test rows: over 100 of them the 95% interval of its top-1 is 82.6% to 94.5%; smaller differences need ...
        >>> few_rows(0.9, 10_000)
        []
    """
    low, high = wilson_interval(top1, tests)
    if not tests or high - low < WIDE:
        return []
    interval = f"the 95% interval of its top-1 is {100 * low:.1f}% to {100 * high:.1f}%"
    text = f"over {tests} of them {interval}; smaller differences need more rows."
    return [Statement("few-rows", text, subject="Few test rows")]


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of independent rows; 0 to 1 for no row.

    Args:
        share: share of right answers; its interval is that of the nearest whole number of them.
        count: number of rows.

    Example:
        >>> [round(end, 3) for end in wilson_interval(0.9, 100)]
        [0.826, 0.945]
    """
    if not count:
        return 0.0, 1.0
    interval = stats.binomtest(round(share * count), count).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
