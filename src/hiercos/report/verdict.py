"""What the hierarchy bought, in plain words."""

import math
from collections.abc import Sequence

from hiercos.report.intervals import Estimate, paired_difference
from hiercos.report.results import Line

FLAT = "cross-entropy"  # every method whose name starts so never looks at the tree


def verdict(lines: Sequence[Line]) -> str:
    """Compare the best hierarchical line with the best flat one, seed by seed, in HOPS and top-1.

    Args:
        lines: the summary of a comparison.

    Returns:
        One or two sentences; they say so where nothing was gained or nothing can be compared.
    """
    flat = [line for line in lines if line.method.startswith(FLAT)]
    hierarchical = [line for line in lines if not line.method.startswith(FLAT)]
    if not flat or not hierarchical:
        return "Nothing to weigh: the comparison needs a flat method (cross-entropy) and a hierarchical one."
    ours = max(hierarchical, key=lambda line: line.estimate("hops").mean)
    reference = max(flat, key=lambda line: line.estimate("top1").mean)
    hops = paired_difference(ours.values["hops"], reference.values["hops"])
    top1 = paired_difference(ours.values["top1"], reference.values["top1"])
    return (
        f"Against {reference.name}, the most accurate flat method, {ours.name} "
        f"{_change(hops, 'HOPS', scale=1, digits=3)} and {_change(top1, 'top-1', scale=100, digits=2, unit=' points')}."
    )


def _change(difference: Estimate, name: str, *, scale: float, digits: int, unit: str = "") -> str:
    """A change with its interval: a gain, a loss, or one that the seeds cannot tell from none."""
    size = f"{abs(difference.mean) * scale:.{digits}f}{unit}"
    if math.isnan(difference.half_width):
        word = "gains" if difference.mean > 0 else "loses"
        return f"{word} {size} of {name} (one seed, so no interval)"
    interval = f"95% interval {difference.low * scale:+.{digits}f} to {difference.high * scale:+.{digits}f}"
    if difference.low > 0:
        return f"gains {size} of {name} ({interval})"
    if difference.high < 0:
        return f"loses {size} of {name} ({interval})"
    return f"shows no certain difference in {name} ({interval})"
