"""Tables of metrics, with intervals or compared with another predictor."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.output import Row, emit
from hiercos.cli.options.groups import OptionError, say
from hiercos.errors import suggestion
from hiercos.metrics import MAIN, MEASURED, OF_SETS, metric_spec

if TYPE_CHECKING:
    from hiercos.evaluation import SampleMetrics

TEXTS = ("table", "latex", "markdown")  # formats for reading: figures are rounded


def metric_rows(samples: "SampleMetrics", *, seed: int = 0) -> list[Row]:
    """A row for each metric: its value, its 95% interval, and the number of samples."""
    from hiercos.evaluation import interval_rows

    rows = interval_rows(samples.names, samples.values, samples.averages, seed=seed)
    for row in rows:
        if row["low"] == row["high"]:
            row["low"], row["high"] = _open_interval(str(row["metric"]), float(row["value"]), int(row["samples"]))
    return list[Row](rows)


def _open_interval(name: str, mean: float, count: int) -> tuple[float, float]:
    """Interval of a metric with the same value for every sample, of which a bootstrap says nothing.

    Wilson's interval where the value is 0 or 1 and the metric ranges between these; nan otherwise.
    """
    from hiercos.report import wilson_interval

    if mean not in (0.0, 1.0) or metric_spec(name).highest != 1 or metric_spec(name).average != "samples":
        return math.nan, math.nan
    return wilson_interval(mean, count)


def difference_rows(samples: "SampleMetrics", other: "SampleMetrics", *, seed: int = 0) -> list[Row]:
    """A row for each metric: both values, their difference with a 95% interval, and the p-value of the paired test."""
    from hiercos.evaluation import bootstrap_difference, sample_means

    found = bootstrap_difference(samples.values, other.values, samples.averages, seed=seed)
    columns = zip(
        samples.names,
        *(sample_means(each.values, each.averages) for each in (samples, other)),
        *(found.difference, found.low, found.high, found.p_value),
        strict=True,
    )
    keys = ("value", "against", "difference", "low", "high", "p_value")
    return [{"metric": name, **dict(zip(keys, map(float, numbers), strict=True))} for name, *numbers in columns]


@dataclass(frozen=True)
class MetricChoice:
    """Options for the metrics of a table."""

    all_metrics: Annotated[
        bool, typer.Option("--all", help="All metrics in a table; csv, json and parquet have them anyway.")
    ] = False
    metrics: Annotated[
        str | None, typer.Option(help="Metrics to show, separated by commas.", show_default="the main ones")
    ] = None

    def names(self) -> list[str]:
        """The chosen metrics, none by default.

        Raises:
            OptionError: for an unknown metric.
        """
        if self.metrics is None:
            return []
        from hiercos.metrics.functional import ANSWER_METRICS

        names = [name.strip() for name in self.metrics.split(",")]
        known = [*(spec.name for spec in MEASURED if not spec.per_level), *OF_SETS, *ANSWER_METRICS]
        for name in names:
            if name not in known and not name.startswith("accuracy_level_"):
                raise OptionError(f"--metrics: unknown metric {name!r}{suggestion(name, known)}")
        return names

    def check(self, *, of_metrics: bool) -> None:
        """Raise an `OptionError` for an unknown metric, or for options that contradict each other.

        Args:
            of_metrics: whether the rows of the table are metrics.
        """
        if self.all_metrics and self.metrics is not None:
            raise OptionError("--all, --metrics: expected one of them")
        if not of_metrics and self != MetricChoice():
            raise OptionError("--all, --metrics: expected no --by with them")
        self.names()

    def rows(self, rows: Sequence[Row], format: str) -> Sequence[Row]:
        """The rows of the chosen metrics; by default the main ones, with a note on stderr.

        Args:
            rows: a row for each metric, with its name as `metric`.
            format: format of the output; tables for reading have the main metrics by default, others all.
        """
        present = [str(row["metric"]) for row in rows]
        if absent := [name for name in self.names() if name not in present]:
            raise OptionError(f"--metrics: {absent[0]!r} is not measured here{suggestion(absent[0], present)}")
        if self.metrics is not None:
            return [rows[present.index(name)] for name in self.names()]
        main = [rows[present.index(name)] for name in MAIN if name in present]
        if self.all_metrics or format not in TEXTS or not main:
            return rows
        say(f"{len(main)} of {len(rows)} metrics; --all shows the others.")
        return main


def write_rows(rows: Sequence[Row], format: str, output: Path | None, *, csv_safe: bool = False) -> None:
    """Write rows with the same keys; unknown values are empty, and a dash in tables, where figures are rounded."""
    shown = _text if format in TEXTS else _known
    emit([{key: shown(value) for key, value in row.items()} for row in rows], format, output, csv_safe=csv_safe)


def _known(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def _text(value: object) -> str:
    if _known(value) is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
