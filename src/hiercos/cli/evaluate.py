"""`hiercos evaluate`: metrics of a model, or of anybody's scores."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli import options
from hiercos.cli.groups import DataOptions, DeviceOptions, grouped
from hiercos.cli.output import Format, check_format


@grouped
def evaluate(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train left.")],
    data: options.Data,
    columns: DataOptions,
    place: DeviceOptions,
    format: Format = "table",
    output: options.Output = None,
) -> None:
    """Metrics of a model on the test split of labelled data."""
    check_format(format, output)
