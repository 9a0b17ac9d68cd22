"""Tables of metrics, with intervals or compared with another predictor."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hiercos.cli.display.output import Row, emit

if TYPE_CHECKING:
    from hiercos.benchmark import SampleMetrics
    from hiercos.predictions import LabelledImages
    from hiercos.taxonomy import Taxonomy

TEXTS = ("table", "latex", "markdown")  # formats for reading: figures are rounded


def read_sample_metrics(scores: Path, taxonomy: "Taxonomy", labels: "LabelledImages | None" = None) -> "SampleMetrics":
    """The metrics of each sample in a file of predictions, see `read_scores`; its notes go to stderr."""
    from hiercos.benchmark import sample_metrics
    from hiercos.predictions import read_scores

    found = read_scores(scores, taxonomy, labels)
    for note in found.notes:
        typer.echo(note, err=True)
    return sample_metrics(found, taxonomy)


def metric_rows(samples: "SampleMetrics", *, seed: int = 0) -> list[Row]:
    """A row for each metric: its value, its 95% interval, and the number of samples."""
    from hiercos.benchmark import bootstrap_interval

    found = bootstrap_interval(samples.values, samples.averages, seed=seed)
    counts = len(samples.values) - _missing(samples)
    columns = zip(samples.names, found.mean, found.low, found.high, counts, strict=True)
    return [
        {"metric": name, "value": float(mean), "low": float(low), "high": float(high), "samples": int(count)}
        for name, mean, low, high, count in columns
    ]


def difference_rows(samples: "SampleMetrics", other: "SampleMetrics", *, seed: int = 0) -> list[Row]:
    """A row for each metric: both values, their difference with a 95% interval, and the p-value of the paired test."""
    from hiercos.benchmark import bootstrap_difference, sample_means

    found = bootstrap_difference(samples.values, other.values, samples.averages, seed=seed)
    columns = zip(
        samples.names,
        *(sample_means(each.values, each.averages) for each in (samples, other)),
        *(found.difference, found.low, found.high, found.p_value),
        strict=True,
    )
    keys = ("value", "against", "difference", "low", "high", "p_value")
    return [{"metric": name, **dict(zip(keys, map(float, numbers), strict=True))} for name, *numbers in columns]


def _missing(samples: "SampleMetrics") -> Any:
    import numpy as np

    return np.isnan(samples.values).sum(axis=0)


def check_same_samples(
    samples: "SampleMetrics", other: "SampleMetrics", scores: Path, against: Path, taxonomy: "Taxonomy"
) -> None:
    """Raise a `DataError` unless two files hold the same labels in the same order."""
    from hiercos.errors import DataError
    from hiercos.taxonomy import nodes_of_labels

    if len(samples.labels) != len(other.labels):
        raise DataError(f"{against}: expected the {len(samples.labels)} samples of {scores}, got {len(other.labels)}")
    differing = (samples.labels != other.labels).nonzero()[0]
    if len(differing):
        row = int(differing[0])
        nodes = (int(nodes_of_labels(each.labels, taxonomy)[row]) for each in (samples, other))
        mine, theirs = ("root" if node < 0 else taxonomy.names[node] for node in nodes)
        raise DataError(f"{against}: sample {row + 1}: expected the label {mine!r} as in {scores}, got {theirs!r}")


def write_rows(rows: Sequence[Row], format: str, output: Path | None, *, csv_safe: bool = False) -> None:
    """Write rows with the same keys; unknown values are empty, and a dash in tables."""
    shown = _text if format in TEXTS else _known
    emit([{key: shown(value) for key, value in row.items()} for row in rows], format, output, csv_safe=csv_safe)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _known(value: object) -> object:
    return None if _is_nan(value) else value


def _text(value: object) -> str:
    if _is_nan(value):
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
