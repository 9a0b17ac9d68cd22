"""Our figures beside the published ones."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hiercos.metrics import MetricSpec, metric_spec
from hiercos.records import Record
from hiercos.report import Estimate, t_interval

MARK = "†"  # marks a published figure that a correct implementation cannot match
PRINTED = 2  # number of decimals of a mean in the paper


@dataclass(frozen=True)
class Pair:
    """One figure, ours and published."""

    column: MetricSpec  # metric and its display format
    ours: Estimate | None  # our figure, with the published convention of intervals; None if it was not measured
    published: Estimate | None  # published figure; None if the paper leaves the cell blank
    matchable: bool = True  # False if a defect of the published code affects this figure

    @property
    def difference(self) -> float | None:
        """Our figure minus the published one; None if either is missing."""
        if self.ours is None or self.published is None:
            return None
        return self.ours.mean - self.published.mean

    def cells(self) -> tuple[str, str, str]:
        """Our figure, the published one and the difference as table cells."""
        mark = "" if self.matchable or self.published is None else f" {MARK}"
        difference = "" if self.difference is None else self.column.text(self.difference, sign="+")
        printed = replace(self.column, digits=PRINTED)
        return _text(self.ours, self.column), _text(self.published, printed) + mark, difference


def pairs(
    records: Sequence[Record], published: Mapping[str, Estimate | None], unmatchable: Collection[str] = ()
) -> list[Pair]:
    """Every figure of a published row beside ours.

    Args:
        records: records of our runs, one per seed; empty if nothing was run.
        published: published figures of the row, by metric.
        unmatchable: metrics whose published figures cannot be matched.
    """
    return [
        Pair(metric_spec(metric), _ours(records, metric), figure, metric not in unmatchable)
        for metric, figure in published.items()
    ]


def _ours(records: Sequence[Record], metric: str) -> Estimate | None:
    values = [record.metrics[metric] for record in records if metric in record.metrics]
    return t_interval(values, interval="published") if values else None


def _text(estimate: Estimate | None, column: MetricSpec) -> str:
    if estimate is None:
        return "–"
    half_width = "" if math.isnan(estimate.half_width) else f" ±{estimate.half_width * column.scale:.3f}"
    return column.text(estimate.mean) + half_width
