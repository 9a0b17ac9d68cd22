"""Options of a search of settings, and what it found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.options.groups import check_option

if TYPE_CHECKING:
    from hiercos.benchmark import Tuning
    from hiercos.records import Record


@dataclass(frozen=True)
class TuneOptions:
    """How long to search each method's settings, and for what."""

    tune: Annotated[
        int, typer.Option(min=0, help="Trials of each method's settings, on validation alone; those given are one.")
    ] = 0
    tune_for: Annotated[str, typer.Option(help="What the best trial is highest in: top1 or hops.")] = "top1"

    def tuning(self) -> "Tuning | None":
        """The search asked for, if any."""
        from hiercos.benchmark import Tuning

        check_option("--tune-for", self.tune_for, ("top1", "hops"))
        return Tuning(self.tune, "hops" if self.tune_for == "hops" else "top1") if self.tune else None


def tell_tuning(records: "Sequence[Record]") -> None:
    """Say on stderr for each method which settings a search chose, and what they reached on validation."""
    for method, tuning in {record.method: record.tuning for record in records if record.tuning}.items():
        best, given = (tuning["trials"][number] for number in (tuning["chosen"], 0))
        settings = ", ".join(f"{name} {value}" for name, value in best["settings"].items())
        values = f"{_value(best, tuning['criterion'])}; as given {_value(given, tuning['criterion'])}"
        typer.echo(
            f"{method}: of {tuning['budget']} trials, number {tuning['chosen']} is best on validation "
            f"({tuning['criterion']} {values}): {settings}",
            err=True,
        )


def _value(trial: dict[str, float | None], criterion: str) -> str:
    value = trial[criterion]
    return "failed" if value is None else f"{value:.4f}"
