"""The model of a comparison to ship, and the reasons in plain words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hiercos.metric_table import metric_spec
from hiercos.records import Record
from hiercos.report.results import Line, best_flat_line
from hiercos.report.statements import Statement

WIDE = 0.06  # width of an interval of top-1 from which the verdict says that the test rows are few
FEWEST_SEEDS = 3  # with fewer, the interval over seeds is too wide to say anything
MOST_NAMED = 4  # lines that a reason names
CRITERIA = {  # metrics that decide, the first ones first, and what a certain difference means
    "ahd_at_1": "its answers are certainly nearer to the truth than those of",
    "top1": "certainly more of its answers are right than of",
    "hops": "its order of the classes (HOPS) is certainly better than that of",
    "log_loss": "its probabilities (log loss) are certainly better than those of",
}
GAINS = {"top1": "top-1", "ahd_at_1": "mean tree distance", "hops": "HOPS"}  # metrics of what the tree and a rule gain
RowDifference = Callable[[str, str, str], tuple[float, float, float]]


@dataclass(frozen=True)
class Recommendation:
    """The line of a comparison to ship.

    Attributes:
        line: recommended line.
        tied: lines that were not dropped either; they have no certain difference from it in any of `CRITERIA`.
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
    """The line to ship: the simplest of those that no other one left is certainly better than.

    Lines are compared row by row of the test split, by the mean tree distance of their answers (AHD@1), then by top-1,
    HOPS and log loss. At each step every line is dropped that any line left is certainly better than; a dropped line
    is not compared in later steps. Of the lines that are left at the end, one without tree and rule goes before one
    with either, then the nearer one.

    Args:
        lines: lines of a comparison.
        rows: mean difference (first line minus second) of one of `CRITERIA` over the test rows, with its interval.
        most_frequent: top-1 of always answering the most frequent training class.
        tests: number of the test rows labelled with a class.
    """
    left, dropped = _selected(lines, rows)
    chosen = min(left, key=lambda line: (*_complexity(line), _rank(line, "ahd_at_1")))
    tied = tuple(line for line in left if line is not chosen)
    figures = f"top-1 {_mean(chosen, 'top1')}%, mean tree distance of the answers {_mean(chosen, 'ahd_at_1')}"
    why = _reason(chosen, tied, dropped, rows, tests)
    statements = [
        Statement("ship", f"{figures}, HOPS {_mean(chosen, 'hops')}.", subject=f"Ship {chosen.name}", reason=why),
        *_few_rows(chosen, tests),
        _features(lines, most_frequent),
        *_gains(lines, chosen, rows),
    ]
    ranked = max(lines, key=lambda line: line.estimate("hops").mean)
    if ranked is not chosen and _is_better(ranked, chosen, "hops", rows):
        text = f"To rank all classes, {ranked.name} has the highest HOPS, {_mean(ranked, 'hops')}."
        statements.append(Statement("order", text))
    return Recommendation(chosen, tied, tuple(statements))


def _selected(lines: Sequence[Line], rows: RowDifference) -> tuple[list[Line], dict[str, list[Line]]]:
    """Lines that are left after all of `CRITERIA`, at least one, and those dropped by each."""
    left, dropped = list(lines), {}
    for name in CRITERIA:
        ranked = sorted(
            left, key=lambda line: _rank(line, name)
        )  # called at once; the best one drops most of the others
        worse = [
            line for line in left if any(_is_better(other, line, name, rows) for other in ranked if other is not line)
        ]
        left, dropped[name] = [line for line in left if line not in worse], worse
    return left, dropped


def _reason(
    chosen: Line, tied: Sequence[Line], dropped: Mapping[str, Sequence[Line]], rows: RowDifference, tests: int
) -> str:
    """Sentences on what a line is certainly better in, and on the other lines that tie or were dropped, each once."""
    left, found = [line for own in dropped.values() for line in own], []
    others = len(left) + len(tied)
    for name, words in CRITERIA.items():
        beaten = [line for line in left if _is_better(chosen, line, name, rows)]
        left = [line for line in left if line not in beaten]
        if beaten:
            found.append(f"{words} {'all others' if len(beaten) == others else _names(beaten)}")
    over = f"over the {tests} test rows"
    sentences = [f"{over.capitalize()} {'; '.join(found)}."] if found else []
    if left:
        sentences.append(f"{_names(left)} {'is' if len(left) == 1 else 'are'} certainly worse than another line.")
    if tied:
        metrics = ", ".join(metric_spec(name).heading.removesuffix(" %") for name in CRITERIA)
        where = "" if found else f"{over} "
        tie = f"It ties with {_names(tied)}: no certain difference {where}in {metrics}"
        sentences.append(f"{tie}; it is the {_distinction(chosen, tied)}.")
    return " ".join(sentences) if others else "It is the only line."


def _distinction(chosen: Line, tied: Sequence[Line]) -> str:
    """Advantages of a line over those tied with it."""
    equals = sum(_complexity(line) == _complexity(chosen) for line in tied)
    return "simplest of them" if not equals else f"nearest of {'them' if equals == len(tied) else 'the simplest'}"


def _complexity(line: Line) -> tuple[int, bool]:
    """Sort key by which a line without tree and rule goes before one with either, and that before one with both."""
    return line.uses_tree + line.has_rule, line.uses_tree


def _names(lines: Sequence[Line]) -> str:
    named = [line.name for line in lines[:MOST_NAMED]]
    more = len(lines) - len(named)
    return ", ".join(named) + (f" and {more} other{'s' * (more > 1)}" if more else "")


def _few_rows(chosen: Line, tests: int) -> list[Statement]:
    """A statement on how well the test rows fix the accuracy of a line, if its interval is wide."""
    low, high = wilson_interval(chosen.estimate("top1").mean, tests)
    if high - low < WIDE:
        return []
    interval = f"the 95% interval of its top-1 is {100 * low:.1f}% to {100 * high:.1f}%"
    text = f"over {tests} of them {interval}; smaller differences need more rows."
    return [Statement("few-rows", text, subject="Few test rows")]


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of `count` independent rows; 0 to 1 for no row.

    Example:
        >>> [round(end, 3) for end in wilson_interval(0.9, 100)]
        [0.826, 0.945]
    """
    if not count:
        return 0.0, 1.0
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


def _gains(lines: Sequence[Line], chosen: Line, rows: RowDifference) -> list[Statement]:
    """Statements on the gains of the tree and of the rule, each against a line without it.

    They are about the line to ship where that has one, else about the nearest such line.
    """
    flat = best_flat_line(lines)
    learnt = [line for line in lines if line.uses_tree and not line.has_rule]
    statements = []
    if flat is not None and learnt:
        best = min(learnt, key=lambda line: (line.name != chosen.records[0].method, _rank(line, "ahd_at_1")))
        gain = f"{_gain(best, flat, rows)}."
        statements.append(Statement("tree", gain, subject="The method that learns from the tree"))
    plain = {line.records[0].method: line for line in lines if not line.has_rule}
    ruled = [line for line in lines if line.has_rule and line.records[0].method in plain]
    if ruled:
        best = min(ruled, key=lambda line: (line is not chosen, _rank(line, "ahd_at_1"), _rank(line, "hops")))
        gain = f"{_gain(best, plain[best.records[0].method], rows)}."
        statements.append(Statement("rule", gain, subject="The rule"))
    return statements


def _gain(ours: Line, reference: Line, rows: RowDifference) -> str:
    """Differences of two lines in `GAINS` with their intervals over the test rows; ties are called ties."""
    differences = {name: rows(ours.name, reference.name, name) for name in GAINS}
    changed = [name for name, values in differences.items() if any(values)]
    if not changed:
        return f"{ours.name} answers and ranks as {reference.name} does: no difference on any test row"
    found: list[str] = []
    only_order = changed == ["hops"]
    for name in changed if only_order else GAINS:
        spec = metric_spec(name)
        mean, low, high = (spec.text(value, sign="+") for value in differences[name])
        tie = "" if _is_certain(ours, reference, name, rows) else ", a tie"
        interval = f"{low} to {high}" if found else f"95% interval over the test rows {low} to {high}"
        found.append(f"{GAINS[name]} {mean}{' points' if '%' in spec.heading else ''} ({interval}{tie})")
    same = "the same answers, " if only_order else ""
    return f"{ours.name} against {reference.name}: {same}{', '.join(found)}"


def _is_certain(ours: Line, reference: Line, name: str, rows: RowDifference) -> bool:
    """Whether the interval over the test rows excludes 0, and over the seeds too if there are at least three.

    A metric that is not known for both lines has no certain difference.
    """
    _, low, high = rows(ours.name, reference.name, name)
    seeds = ours.difference(reference, name)
    if math.isnan(seeds.mean):
        return False
    few_seeds = len(ours.records) < FEWEST_SEEDS
    return (low > 0 and (few_seeds or seeds.low > 0)) or (high < 0 and (few_seeds or seeds.high < 0))


def _is_better(ours: Line, reference: Line, name: str, rows: RowDifference) -> bool:
    """Whether a line is certainly better than another in a metric."""
    mean, _, _ = rows(ours.name, reference.name, name)
    return (mean > 0) == metric_spec(name).higher_is_better and _is_certain(ours, reference, name, rows)


def _rank(line: Line, name: str) -> float:
    """Mean of a metric over the seeds with the sign that makes lower better; infinite where it is not known."""
    mean = line.estimate(name).mean
    return math.inf if math.isnan(mean) else -mean if metric_spec(name).higher_is_better else mean


def _mean(line: Line, name: str) -> str:
    return metric_spec(name).text(line.estimate(name).mean)
