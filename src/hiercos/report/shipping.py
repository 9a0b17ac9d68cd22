"""The model of a comparison to ship, and the reasons in plain words."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hiercos.metric_table import metric_spec
from hiercos.records import Record
from hiercos.report.results import Line, best_flat_line
from hiercos.report.statements import Statement

WIDE = 0.06  # width of an interval of top-1 from which the verdict says that the test rows are few
FEWEST_SEEDS = 3  # with fewer, the interval over seeds is too wide to say anything
RowDifference = Callable[[str, str, str], tuple[float, float, float]]


@dataclass(frozen=True)
class Recommendation:
    """The line of a comparison to ship.

    Attributes:
        line: recommended line.
        tied: other lines whose answers are not certainly nearer or farther than those of the nearest line.
        statements: the recommendation and its reasons.
    """

    line: Line
    tied: tuple[Line, ...]
    statements: tuple[Statement, ...]

    @property
    def record(self) -> Record:
        """Record of the seed with the best top-1 on validation, the first of equals."""
        return max(self.line.records, key=lambda record: record.validation_top1)


def recommendation(lines: Sequence[Line], rows: RowDifference, *, most_frequent: float, tests: int) -> Recommendation:
    """The line to ship: of those whose answers are nearest to the truth, the simplest.

    Answers are compared by their mean tree distance (AHD@1), row by row of the test split. Lines without a certain
    difference from the nearest one tie; among these, one without tree and rule goes before one with either, then the
    nearer one.

    Args:
        lines: lines of a comparison.
        rows: mean difference (first line minus second) of "top1" or "ahd_at_1" over the test rows, with its interval.
        most_frequent: top-1 of always answering the most frequent training class.
        tests: number of the test rows labelled with a class.
    """
    nearest = min(lines, key=_distance)
    tied = [line for line in lines if line is nearest or not _is_certain(line, nearest, "ahd_at_1", rows)]
    chosen = min(tied, key=lambda line: (line.uses_tree + line.has_rule, line.uses_tree, _distance(line)))
    others = tuple(line for line in tied if line is not chosen)
    top1, distance = (metric_spec(name).text(chosen.estimate(name).mean) for name in ("top1", "ahd_at_1"))
    first = f"top-1 {top1}%, mean tree distance of the answers {distance}."
    why = _ties(others, tests) if len(lines) > 1 else ""
    statements = [
        Statement("ship", first, subject=f"Ship {chosen.name}", reason=why),
        *_few_rows(chosen, tests),
        _features(lines, most_frequent),
        *_parts(lines, rows),
    ]
    ranked = max(lines, key=lambda line: line.estimate("hops").mean)
    if ranked.estimate("hops").mean > chosen.estimate("hops").mean:
        text = f"To rank all classes, {ranked.name} has the highest HOPS, {_mean(ranked, 'hops')}."
        statements.append(Statement("order", text))
    return Recommendation(chosen, others, tuple(statements))


def _ties(others: Sequence[Line], tests: int) -> str:
    if not others:
        return f"Its answers are certainly nearer than those of all others over the {tests} test rows."
    names = ", ".join(line.name for line in others)
    return f"It ties with {names}: no certain difference over the {tests} test rows; it is the simplest of them."


def _few_rows(chosen: Line, tests: int) -> list[Statement]:
    """A statement on how well the test rows fix the accuracy of a line, if its interval is wide."""
    low, high = wilson_interval(chosen.estimate("top1").mean, tests)
    if high - low < WIDE:
        return []
    interval = f"the 95% interval of its top-1 is {100 * low:.1f}% to {100 * high:.1f}%"
    text = f"over {tests} of them {interval}; smaller differences need more rows."
    return [Statement("few-rows", text, subject="Few test rows")]


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of `count` independent rows.

    Example:
        >>> [round(end, 3) for end in wilson_interval(0.9, 100)]
        [0.826, 0.945]
    """
    z = 1.959964
    centre, total = share + z**2 / (2 * count), 1 + z**2 / count
    spread = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return (centre - spread) / total, (centre + spread) / total


def _features(lines: Sequence[Line], most_frequent: float) -> Statement:
    """Statement on the gain of the features: the most accurate flat line against one constant answer."""
    flat = best_flat_line(lines) or max(lines, key=lambda line: line.estimate("top1").mean)
    share = metric_spec("top1").text(most_frequent)
    text = f"{flat.name} has top-1 {_mean(flat, 'top1')}%, guessing the most frequent class {share}%."
    return Statement("features", text, subject="The features")


def _parts(lines: Sequence[Line], rows: RowDifference) -> list[Statement]:
    """Statements on the gains of the tree and of the rule, each against a line without it."""
    flat = best_flat_line(lines)
    learnt = [line for line in lines if line.uses_tree and not line.has_rule]
    statements = []
    if flat is not None and learnt:
        best = min(learnt, key=_distance)
        bought = f"{_bought(best, flat, rows)}."
        statements.append(Statement("tree", bought, subject="The method that learns from the tree"))
    plain = {line.records[0].method: line for line in lines if not line.has_rule}
    ruled = [line for line in lines if line.has_rule and line.records[0].method in plain]
    if ruled:
        best = min(ruled, key=_distance)
        bought = f"{_bought(best, plain[best.records[0].method], rows)}."
        statements.append(Statement("rule", bought, subject="The rule"))
    return statements


def _bought(ours: Line, reference: Line, rows: RowDifference) -> str:
    """Differences of two lines in top-1 and AHD@1 with their intervals over the test rows; ties are called ties."""
    names = {"top1": "top-1", "ahd_at_1": "mean tree distance"}
    differences = {name: rows(ours.name, reference.name, name) for name in names}
    if not any(value for found in differences.values() for value in found):
        return f"{ours.name} answers as {reference.name} does: no difference on any test row"
    found: list[str] = []
    for name, values in differences.items():
        spec = metric_spec(name)
        mean, low, high = (spec.text(value, sign="+") for value in values)
        tie = "" if _is_certain(ours, reference, name, rows) else ", a tie"
        interval = f"{low} to {high}" if found else f"95% interval over the test rows {low} to {high}"
        found.append(f"{names[name]} {mean}{' points' if '%' in spec.heading else ''} ({interval}{tie})")
    return f"{ours.name} against {reference.name}: {', '.join(found)}"


def _is_certain(ours: Line, reference: Line, name: str, rows: RowDifference) -> bool:
    """Whether the interval over the test rows excludes 0, and over the seeds too if there are at least three."""
    _, low, high = rows(ours.name, reference.name, name)
    seeds = ours.difference(reference, name)
    by_seed = len(ours.records) < FEWEST_SEEDS or seeds.low > 0 or seeds.high < 0
    return (low > 0 or high < 0) and by_seed


def _distance(line: Line) -> float:
    """Mean tree distance of the answers of a line."""
    return line.estimate("ahd_at_1").mean


def _mean(line: Line, name: str) -> str:
    return metric_spec(name).text(line.estimate(name).mean)
