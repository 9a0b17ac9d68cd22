"""The gain from using the hierarchy, in plain words."""

import math
from collections.abc import Sequence

from hiercos.metric_table import MetricSpec, metric_spec
from hiercos.report.results import Estimate, Line, best_flat_line


def verdict(lines: Sequence[Line]) -> str:
    """Gain or loss in HOPS and top-1 from using the tree, compared with the most accurate flat method.

    It covers the best line that learns with the tree and the best line with a decision rule.

    Args:
        lines: lines of a comparison.

    Returns:
        One sentence; it says so if nothing was gained or nothing can be compared.
    """
    reference = best_flat_line(lines)
    learnt = [line for line in lines if line.uses_tree and not line.has_rule]
    ruled = [line for line in lines if line.has_rule]
    if reference is None or not (learnt or ruled):
        return "No verdict: the comparison needs a flat method (cross-entropy) and a hierarchical one."
    best = [max(group, key=lambda line: line.estimate("hops").mean) for group in (learnt, ruled) if group]
    found = "; ".join(f"{line.name} {changes(line, reference)}" for line in best)
    return f"Against {reference.name}, the most accurate flat method: {found}."


def changes(ours: Line, reference: Line) -> str:
    """The differences of one line from another in HOPS and top-1, in words, each with its interval."""
    return " and ".join(_change(ours.difference(reference, name), metric_spec(name)) for name in ("hops", "top1"))


def _change(difference: Estimate, spec: MetricSpec) -> str:
    """A difference with its interval, in words: a gain, a loss, or not significant."""
    name, percent, _ = spec.heading.partition(" %")
    size = spec.text(abs(difference.mean)) + (" points" if percent else "")
    if math.isnan(difference.half_width):
        word = "gains" if difference.mean > 0 else "loses" if difference.mean < 0 else "changes by"
        return f"{word} {size} of {name} (one seed, so no interval)"
    interval = f"95% interval {spec.text(difference.low, sign='+')} to {spec.text(difference.high, sign='+')}"
    if difference.low > 0:
        return f"gains {size} of {name} ({interval})"
    if difference.high < 0:
        return f"loses {size} of {name} ({interval})"
    return f"shows no significant difference in {name} ({interval})"
