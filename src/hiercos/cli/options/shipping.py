"""The model that a comparison recommends: the reasons, the command that trains it, and a copy of it."""

import dataclasses
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.options.groups import TrainingOptions, option_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightning_fabric import Fabric

    from hiercos.data import Dataset
    from hiercos.engine import PreparedData
    from hiercos.records import Record
    from hiercos.report import Recommendation


@dataclass(frozen=True)
class DimOption:
    """The number of TF-IDF features of a text."""

    dim: int = 256


@dataclass(frozen=True)
class ShipOptions:
    """Option for a copy of the recommended model."""

    ship: Annotated[
        Path | None, typer.Option(help="New folder for the recommended model, with its rule.", show_default=False)
    ] = None

    def check(self) -> None:
        """Raise for a folder that exists, before any work is done."""
        if self.ship is not None:
            from hiercos.benchmark import check_shipping

            check_shipping(self.ship)

    def copy(self, fabric: "Fabric", data: "PreparedData", record: "Record", out: Path) -> None:
        """Copy the model of a record from the folder of a comparison, if a folder was given."""
        if self.ship is None:
            return
        from hiercos.benchmark import ship_model

        ship_model(fabric, data, record, out, self.ship)
        typer.echo(f"The model {record.name} of seed {record.seed} is in {self.ship}.", err=True)


def recommended(records: "Sequence[Record]", dataset: "Dataset", out: Path) -> "Recommendation":
    """The line to ship, from the answers of all lines to the test rows."""
    import numpy as np

    from hiercos.benchmark import AnswerTable
    from hiercos.report import recommendation, summarize

    counts = np.bincount(dataset.labels[dataset.rows("train")])
    share = float((dataset.labels[dataset.rows("test")] == counts.argmax()).mean())
    return recommendation(summarize(records), AnswerTable.of(records, out).difference, most_frequent=share)


def command_text(record: "Record", data: str, training: TrainingOptions, *others: Any) -> str:
    """The command that trains the model of a record.

    Args:
        record: record of a run and rule.
        data: data argument of the comparison.
        training: training options of the comparison; the seed and searched settings are those of the record.
        *others: the other option groups that `compare` and `train` share.
    """
    chosen = {name: record.config[name] for name in ("learning_rate", "weight_decay", "seed")}
    words = option_words(*others, dataclasses.replace(training, **chosen))
    if record.tuning is not None:
        for name, value in record.config["options"].items():
            words += ["--set", f"{name}={json.dumps(value)}"]
    model = ["--method", record.method, "--rule", record.rule, "--out", "MODEL"]
    return f"To train it: {shlex.join(['hiercos', 'train', data, *words, *model])}"
