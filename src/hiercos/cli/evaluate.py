"""`hiercos evaluate`: metrics of a model on labelled data."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli import options
from hiercos.cli.groups import ColumnOptions, DeviceOptions, grouped
from hiercos.cli.output import Format, check_format, emit


@grouped
def evaluate(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train left.")],
    data: options.Data,
    columns: ColumnOptions,
    place: DeviceOptions,
    format: Format = "table",
    output: options.Output = None,
) -> None:
    """Metrics of a model on the test rows of labelled data, or on every row of a file without splits."""
    check_format(format, output)
    from hiercos.data import load_test_samples
    from hiercos.engine import evaluate as evaluate_model
    from hiercos.engine import load_model
    from hiercos.engine.predict import labelled_vectors

    stored = load_model(model)
    inputs, labels = load_test_samples(data, stored.model.taxonomy, **asdict(columns))
    metrics = evaluate_model(place.fabric(), stored.model, labelled_vectors(stored, inputs, labels))
    emit([{"metric": name, "value": value} for name, value in metrics.items()], format, output)
