"""`hiercos predict`: answers of a model at every level."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli import options
from hiercos.cli.groups import DeviceOptions, grouped
from hiercos.cli.output import Format, check_format, chosen_format, emit


@grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train left.")],
    inputs: Annotated[str, typer.Argument(help="Table of texts, .npz of vectors, or - for a text a line.")],
    place: DeviceOptions,
    text_column: Annotated[str, typer.Option(help="Column of the texts.")] = "text",
    batch_size: options.BatchSize = None,
    format: Format = None,
    output: options.Output = None,
) -> None:
    """Predict the class and its ancestors: one row per input, one column per level.

    The levels are those of the class that wins, so they always form a path of the taxonomy.
    """
    chosen = chosen_format(format, output, "csv")
    check_format(chosen, output)
    from hiercos.data.inputs import read_inputs
    from hiercos.engine import load_model
    from hiercos.engine.predict import prediction_rows
    from hiercos.engine.readers import Reading

    stored = load_model(model)
    unlabelled = read_inputs(inputs, kind=stored.kind, text_column=text_column)
    emit(prediction_rows(stored, unlabelled, Reading(place.fabric(), batch_size)), chosen, output)
