"""Recommendation of a variant of a comparison, with its reasons in words."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scipy import stats

from hiercos.metrics import MetricSpec, metric_spec
from hiercos.records import Record
from hiercos.report.results import Variant, best_flat_variant
from hiercos.report.statements import Statement

WIDE = 0.06  # width of an interval of top-1 from which the verdict says that the test rows are few
FEWEST_SEEDS = 3  # with fewer, the interval over seeds is too wide to say anything
MOST_NAMED = 4  # variants that a reason names
CRITERIA = {  # metrics that decide, the first ones first, and what a significant difference means
    "ahd_at_1": "its answers are significantly nearer to the truth than those of",
    "top1": "significantly more of its answers are right than of",
    "hops": "its order of the classes (HOPS) is significantly better than that of",
    "log_loss": "its probabilities (log loss) are significantly better than those of",
}
PURPOSES = {  # beginning of a statement on a variant that beats the recommended one in a metric, and the metric's name
    "ahd_at_1": ("For answers nearest to the truth", "mean tree distance"),
    "top1": ("For the most correct answers", "top-1"),
    "hops": ("To rank all classes", "HOPS"),
    "log_loss": ("For the best probabilities", "log loss"),
}
GAINS = {"top1": "top-1", "ahd_at_1": "mean tree distance", "hops": "HOPS"}  # metrics of what the tree and a rule gain
RowDifference = Callable[[str, str, str], tuple[float, float, float]]


@dataclass(frozen=True)
class Recommendation:
    """The recommended variant of a comparison.

    Attributes:
        variant: recommended variant.
        tied: other variants that were not eliminated: no significant difference from it in any of `CRITERIA`.
        statements: the recommendation and its reasons.
    """

    variant: Variant
    tied: tuple[Variant, ...]
    statements: tuple[Statement, ...]

    @property
    def record(self) -> Record:
        """Record of the seed with the best top-1 on validation, the first of equals."""
        return max(self.variant.records, key=lambda record: record.validation_top1)


def recommend(variants: Sequence[Variant], rows: RowDifference, *, most_frequent: float, tests: int) -> Recommendation:
    """Recommend the simplest of the variants that remain after an elimination by four metrics in turn.

    The metrics are AHD@1, top-1, HOPS and log loss, compared row by row of the test split. At each step a variant is
    eliminated if some remaining variant is significantly better. Of those that remain at the end, one without tree and
    rule goes before one with a rule, that before one with the tree, and that before one with both; of equals, the one
    with the lower AHD@1. Significant differences are not transitive: if an eliminated variant is as good as that one or
    better in all four means, and significantly better in one, it is recommended instead.

    Args:
        variants: variants of a comparison.
        rows: mean difference (first variant minus second) of one of `CRITERIA` over the test rows, with its interval.
        most_frequent: top-1 of always answering the most frequent training class.
        tests: number of the test rows labelled with a class.
    """
    left, lost = _selected(variants, rows)
    chosen = min(left, key=lambda variant: (*_complexity(variant), _rank(variant, "ahd_at_1")))
    if better := [variant for variant in lost if _dominates(variant, chosen, rows)]:
        chosen = min(better, key=lambda variant: [_rank(variant, name) for name in CRITERIA])
        left = [variant for variant in variants if _ties(variant, chosen, rows)]
        lost = [variant for variant in variants if variant is not chosen and variant not in left]
    tied = tuple(variant for variant in left if variant is not chosen)
    figures = (
        f"top-1 {_mean(chosen, 'top1')}%, mean tree distance of the answers {_mean(chosen, 'ahd_at_1')}, "
        f"HOPS {_mean(chosen, 'hops')}, log loss {_mean(chosen, 'log_loss')}"
    )
    why = _reason(chosen, tied, lost, rows, tests)
    statements = [
        Statement("ship", f"{figures}.", subject=f"Ship {chosen.name}", reason=why),
        *few_rows(chosen.estimate("top1").mean, tests),
        *_over_flat(variants, chosen, rows),
        _features(variants, most_frequent),
        *_gains(variants, chosen, rows),
        *_ahead(variants, chosen, rows),
    ]
    return Recommendation(chosen, tied, tuple(statements))


def _over_flat(variants: Sequence[Variant], chosen: Variant, rows: RowDifference) -> list[Statement]:
    """A statement on the recommended variant against the best flat one, if both its method and its rule differ."""
    flat = best_flat_variant(variants)
    if flat is None or not chosen.has_rule or flat.records[0].method == chosen.records[0].method:
        return []
    times = [variant.estimate("train_seconds").mean for variant in (chosen, flat)]
    text = f"{_gain(chosen, flat, rows)}; training took {times[0]:.1f} s and {times[1]:.1f} s."
    return [Statement("flat", text, subject="Against the best flat method")]


def _ahead(variants: Sequence[Variant], chosen: Variant, rows: RowDifference) -> list[Statement]:
    """A statement for each metric in which the best variant is significantly better than the recommended one."""
    statements = []
    for name, (purpose, metric) in PURPOSES.items():
        spec = metric_spec(name)
        best = min(variants, key=lambda variant: _rank(variant, name))  # called at once
        if best is chosen or not _is_better(best, chosen, name, rows):
            continue
        extreme = "highest" if spec.higher_is_better else "lowest"
        unit = "%" if "%" in spec.heading else ""
        text = f"{purpose}, {best.name} has the {extreme} {metric}, {_mean(best, name)}{unit}."
        statements.append(Statement("ahead", text))
    return statements


def _selected(variants: Sequence[Variant], rows: RowDifference) -> tuple[list[Variant], list[Variant]]:
    """Variants that are left after all of `CRITERIA`, at least one, and those eliminated, the first ones first."""
    left, lost = list(variants), []
    for name in CRITERIA:
        ranked = sorted(left, key=lambda variant: _rank(variant, name))  # called at once; the best eliminates the most
        worse = [
            variant
            for variant in left
            if any(_is_better(other, variant, name, rows) for other in ranked if other is not variant)
        ]
        left = [variant for variant in left if variant not in worse]
        lost += worse
    return left, lost


def _reason(
    chosen: Variant,
    tied: Sequence[Variant],
    lost: Sequence[Variant],
    rows: RowDifference,
    tests: int,
) -> str:
    """Sentences on what a variant is significantly better in, and on those that tie or lost, each once."""
    left, found = list(lost), []
    others = len(left) + len(tied)
    for name, words in CRITERIA.items():
        beaten = [variant for variant in left if _is_better(chosen, variant, name, rows)]
        left = [variant for variant in left if variant not in beaten]
        if beaten:
            found.append(f"{words} {'all others' if len(beaten) == others else _names(beaten)}")
    over = f"over the {tests} test rows"
    sentences = [f"{over.capitalize()} {'; '.join(found)}."] if found else []
    known = [chosen, *tied, *lost]
    worse = [sentence for variant in left if (sentence := _elimination(variant, known, rows))]
    sentences += worse[:MOST_NAMED]
    if more := len(worse) - MOST_NAMED if len(worse) > MOST_NAMED else 0:
        sentences.append(f"{more} other{'s are' if more > 1 else ' is'} significantly worse than another variant.")
    if tied:
        metrics = ", ".join(metric_spec(name).heading.removesuffix(" %") for name in CRITERIA)
        where = "" if found else f"{over} "
        tie = f"{chosen.name} ties with {_names(tied)}: no significant difference {where}in {metrics}"
        sentences.append(f"{tie}; it is the {_distinction(chosen, tied)}.")
    return " ".join(sentences) if others else "It is the only variant."


def _elimination(variant: Variant, known: Sequence[Variant], rows: RowDifference) -> str:
    """Sentence on the first metric in which some variant is significantly better than an eliminated one, if any is."""
    for name in CRITERIA:
        for other in sorted(known, key=lambda other: _rank(other, name)):  # called at once
            if other is not variant and _is_better(other, variant, name, rows):
                return f"{variant.name} is significantly worse than {other.name} in {PURPOSES[name][1]}."
    return ""


def _distinction(chosen: Variant, tied: Sequence[Variant]) -> str:
    """Advantages of a variant over those tied with it."""
    equals = sum(_complexity(variant) == _complexity(chosen) for variant in tied)
    return "simplest of them" if not equals else f"nearest of {'them' if equals == len(tied) else 'the simplest'}"


def _complexity(variant: Variant) -> tuple[int, bool]:
    """Sort key by which a variant without tree and rule goes before one with either, and that before one with both."""
    return variant.uses_tree + variant.has_rule, variant.uses_tree


def _names(variants: Sequence[Variant]) -> str:
    named = [variant.name for variant in variants[:MOST_NAMED]]
    more = len(variants) - len(named)
    return ", ".join(named) + (f" and {more} other{'s' * (more > 1)}" if more else "")


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


def _features(variants: Sequence[Variant], most_frequent: float) -> Statement:
    """Statement on the gain of the features: the most accurate flat variant against one constant answer."""
    flat = best_flat_variant(variants) or max(variants, key=lambda variant: variant.estimate("top1").mean)
    share = metric_spec("top1").text(most_frequent)
    text = f"{flat.name} has top-1 {_mean(flat, 'top1')}%, guessing the most frequent class {share}%."
    return Statement("features", text, subject="The features")


def _gains(variants: Sequence[Variant], chosen: Variant, rows: RowDifference) -> list[Statement]:
    """Statements on the gains of the tree and of the rule, each against a variant without it.

    They are about the recommended variant where that has one, else about the nearest such variant.
    """
    flat = best_flat_variant(variants)
    learnt = [variant for variant in variants if variant.uses_tree and not variant.has_rule]
    statements = []
    if flat is not None and learnt:
        best = min(learnt, key=lambda variant: (variant.name != chosen.records[0].method, _rank(variant, "ahd_at_1")))
        gain = f"{_gain(best, flat, rows)}."
        statements.append(Statement("tree", gain, subject="The method that learns from the tree"))
    plain = {variant.records[0].method: variant for variant in variants if not variant.has_rule}
    ruled = [variant for variant in variants if variant.has_rule and variant.records[0].method in plain]
    if ruled:
        best = min(
            ruled, key=lambda variant: (variant is not chosen, _rank(variant, "ahd_at_1"), _rank(variant, "hops"))
        )
        gain = f"{_gain(best, plain[best.records[0].method], rows)}."
        statements.append(Statement("rule", gain, subject="The rule"))
    return statements


def _gain(ours: Variant, reference: Variant, rows: RowDifference) -> str:
    """Differences of two variants in `GAINS` with their intervals over the test rows; ties are called ties."""
    differences = {name: rows(ours.name, reference.name, name) for name in GAINS}
    changed = [name for name, values in differences.items() if any(values)]
    if not changed:
        return f"{ours.name} answers and ranks as {reference.name} does: no difference on any test row"
    found: list[str] = []
    only_order = changed == ["hops"]
    for name in changed if only_order else GAINS:
        is_tie = not _is_significant(ours, reference, name, rows)
        spec = metric_spec(name) if is_tie else _with_enough_digits(metric_spec(name), differences[name][1:])
        mean, low, high = (spec.text(value, sign="+") for value in differences[name])
        tie = ", a tie" if is_tie else ""
        interval = f"{low} to {high}" if found else f"95% interval over the test rows {low} to {high}"
        found.append(f"{GAINS[name]} {mean}{' points' if '%' in spec.heading else ''} ({interval}{tie})")
    same = "the same answers, " if only_order else ""
    return f"{ours.name} against {reference.name}: {same}{', '.join(found)}"


def _with_enough_digits(spec: MetricSpec, ends: Sequence[float]) -> MetricSpec:
    """The metric with enough decimal places that no end of an interval, both ends other than 0, is shown as 0."""
    while any(float(spec.text(end)) == 0 for end in ends):
        spec = replace(spec, digits=spec.digits + 1)
    return spec


def _is_significant(ours: Variant, reference: Variant, name: str, rows: RowDifference) -> bool:
    """Whether the interval over the test rows excludes 0, and over the seeds too if there are at least three.

    A metric that is not known for both variants has no significant difference.
    """
    _, low, high = rows(ours.name, reference.name, name)
    seeds = ours.difference(reference, name)
    if math.isnan(seeds.mean):
        return False
    few_seeds = len(ours.records) < FEWEST_SEEDS
    return (low > 0 and (few_seeds or seeds.low > 0)) or (high < 0 and (few_seeds or seeds.high < 0))


def _is_better(ours: Variant, reference: Variant, name: str, rows: RowDifference) -> bool:
    """Whether a variant is significantly better than another in a metric."""
    mean, _, _ = rows(ours.name, reference.name, name)
    return (mean > 0) == metric_spec(name).higher_is_better and _is_significant(ours, reference, name, rows)


def _dominates(ours: Variant, reference: Variant, rows: RowDifference) -> bool:
    """Whether a variant is as good as another or better in the means of all `CRITERIA`, and significantly so in one."""
    return all(_rank(ours, name) <= _rank(reference, name) for name in CRITERIA) and any(
        _is_better(ours, reference, name, rows) for name in CRITERIA
    )


def _ties(ours: Variant, reference: Variant, rows: RowDifference) -> bool:
    """Whether two variants have no significant difference in any of `CRITERIA`."""
    return not any(_is_significant(ours, reference, name, rows) for name in CRITERIA)


def _rank(variant: Variant, name: str) -> float:
    """Mean of a metric over the seeds with the sign that makes lower better; infinite where it is not known."""
    mean = variant.estimate(name).mean
    return math.inf if math.isnan(mean) else -mean if metric_spec(name).higher_is_better else mean


def _mean(variant: Variant, name: str) -> str:
    return metric_spec(name).text(variant.estimate(name).mean)
