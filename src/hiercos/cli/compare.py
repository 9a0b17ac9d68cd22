"""`hiercos compare`: what the hierarchy buys on the user's own data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli import options
from hiercos.cli.groups import DataOptions, DeviceOptions, OptionError, TrainingOptions, grouped
from hiercos.cli.results import ComparisonOptions

if TYPE_CHECKING:
    from hiercos.records import Record


@grouped
def compare(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the runs, results.csv, .md, .tex, .json and report.html.")],
    training: TrainingOptions,
    columns: DataOptions,
    place: DeviceOptions,
    shown: ComparisonOptions,
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas, or all (see hiercos methods).")
    ] = "cross-entropy,cross-entropy-mlp,hier-cos",
    rules: Annotated[
        str, typer.Option(help="Decision rules, separated by commas: none, crm, hops; rule@method for one method.")
    ] = "none,crm",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 3,
    dim: options.Dim = 256,
) -> None:
    """Train several methods on the same features, splits and seeds, and say what the hierarchy bought.

    What an earlier, interrupted call with the same --out finished is not run again.
    """
    shown.check()
    from hiercos.benchmark import Entry
    from hiercos.benchmark import compare as run_grid
    from hiercos.cli.display import watcher
    from hiercos.engine import prepare
    from hiercos.methods import METHODS
    from hiercos.records import line_name

    names = list(METHODS) if methods == "all" else list(dict.fromkeys(name.strip() for name in methods.split(",")))
    METHODS.refuse_unknown(names)
    chosen = {name: _rules(rules, name) for name in names}
    _refuse_unknown_methods(rules, names)
    reference = shown.named_reference([line_name(name, rule) for name in names for rule in chosen[name]])
    dataset = columns.read(data)
    samples = len(dataset.rows("train"))
    configs = [training.config(name, {}, precision=place.precision, samples=samples) for name in names]
    entries = [Entry(config, chosen[config.method]) for config in configs]
    seed_range = range(training.seed, training.seed + seeds)
    with place.processes() as fabric:
        records = run_grid(fabric, prepare(dataset, dim=dim), entries, seed_range, out, watcher=watcher)
        if fabric.is_global_zero:
            _tell(records, out, shown, reference)


def _tell(records: "list[Record]", out: Path, shown: ComparisonOptions, reference: str | None) -> None:
    """Leave the results in every form, print one, and say what the hierarchy bought."""
    from hiercos.benchmark.compare import RUNS
    from hiercos.report import comparison_results

    shown.tell(comparison_results(records, reference=reference, interval=shown.convention), out)
    compared = {record.method for record in records}
    if others := sorted(path.name for path in (out / RUNS).iterdir() if path.name not in compared):
        typer.echo(f"Earlier runs of {', '.join(others)} in {out / RUNS} are not part of these results.", err=True)


def _rules(text: str, method: str) -> tuple[str, ...]:
    """The rules for one method, each once: those without a method and those for it."""
    from hiercos.decisions import RULES

    named = [part.strip().partition("@") for part in text.split(",")]
    chosen = [rule for rule, _, owner in named if owner in ("", method)]
    for rule in chosen:
        RULES[rule]  # an unknown one is an error that lists them
    return tuple(dict.fromkeys(chosen))


def _refuse_unknown_methods(text: str, methods: list[str]) -> None:
    for part in text.split(","):
        _, at, owner = part.strip().partition("@")
        if at and owner not in methods:
            raise OptionError(f"--rules {part.strip()}: {owner!r} is not among the methods compared")
