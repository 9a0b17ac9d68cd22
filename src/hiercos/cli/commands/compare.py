"""`hiercos compare`: what the hierarchy buys on the user's own data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.options import common as options
from hiercos.cli.options.backbones import BackboneOptions
from hiercos.cli.options.comparison import ComparisonOptions, TuneOptions, tell_tuning
from hiercos.cli.options.groups import (
    DataOptions,
    DeviceOptions,
    OptionError,
    TrainingOptions,
    grouped,
    is_first_process,
)

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
    inputs: BackboneOptions,
    search: TuneOptions,
    shown: ComparisonOptions,
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas, or all (see hiercos methods).")
    ] = "cross-entropy,cross-entropy-mlp,hier-cos,default",
    rules: Annotated[
        str | None,
        typer.Option(
            help="Decision rules, separated by commas: none, crm, hops; rule@method for one method.",
            show_default="none,crm, and the default method's own rule for it and for cross-entropy-mlp",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at once, in processes of their own; on a CPU.")] = 1,
    dim: options.Dim = 256,
) -> None:
    """Train several methods on the same features, splits and seeds, and say what the hierarchy bought.

    What an earlier, interrupted call with the same --out finished is not run again.
    """
    shown.check()
    columns.check(data)
    place.check_names()
    training.check_names()
    if rules is not None:
        options.check_rules(rule for rule, _ in _rules_with_owners(rules))
    from hiercos.benchmark import Entry
    from hiercos.benchmark import compare as run_grid
    from hiercos.cli.display.training import observer
    from hiercos.records import line_name

    names = _method_names(methods)
    _say_what_the_default_is(names)
    tuning = search.tuning()
    wanted = _usual_rules(names) if rules is None else rules
    chosen = {name: _rules(wanted, name) for name in names}
    _refuse_unknown_methods(wanted, names)
    reference = shown.named_reference([line_name(name, rule) for name in names for rule in chosen[name]])
    dataset = columns.read(data)
    samples = len(dataset.rows("train"))
    configs = [training.config(name, {}, precision=place.precision, samples=samples) for name in names]
    entries = [Entry(config, chosen[config.method]) for config in configs]
    seed_range = range(training.seed, training.seed + seeds)
    with place.processes() as fabric:
        prepared = inputs.prepared(fabric, dataset, dim=dim)
        with observer(names, seeds=seeds, trials=search.tune, jobs=jobs) as display:
            records = run_grid(fabric, prepared, entries, seed_range, out, jobs=jobs, tuning=tuning, observer=display)
        if fabric.is_global_zero:
            tell_tuning(records)
            _tell(records, out, shown, reference)


def _tell(records: "list[Record]", out: Path, shown: ComparisonOptions, reference: str | None) -> None:
    """Leave the results in every form, print one, and say what the hierarchy bought."""
    from hiercos.benchmark import RUNS
    from hiercos.report import comparison_results

    shown.tell(comparison_results(records, reference=reference, interval=shown.convention), out)
    compared = {record.method for record in records}
    if others := sorted(path.name for path in (out / RUNS).iterdir() if path.name not in compared):
        typer.echo(f"Earlier runs of {', '.join(others)} in {out / RUNS} are not part of these results.", err=True)


def _method_names(text: str) -> list[str]:
    """The methods asked for, each once, by the names they are registered under."""
    from hiercos.methods import METHODS

    asked = list(METHODS) if text == "all" else [METHODS.canonical(name.strip()) for name in text.split(",")]
    return list(dict.fromkeys(asked))


def _say_what_the_default_is(methods: list[str]) -> None:
    """The default stands in tables under its own name."""
    from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS

    if METHODS.canonical(DEFAULT) in methods and is_first_process():
        typer.echo(f"What hiercos train uses by default is {METHODS.canonical(DEFAULT)} + {DEFAULT_RULE}.", err=True)


def _usual_rules(methods: list[str]) -> str:
    """Every method raw and under CRM; the default under its own rule too, and cross-entropy beside it."""
    from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS

    default = METHODS.canonical(DEFAULT)
    ranked = [name for name in (default, "cross-entropy-mlp") if name in methods] if default in methods else []
    return ",".join(["none", "crm", *(f"{DEFAULT_RULE}@{name}" for name in ranked)])


def _rules(text: str, method: str) -> tuple[str, ...]:
    """The rules for one method, each once: those without a method and those for it."""
    return tuple(dict.fromkeys(rule for rule, owner in _owned_rules(text) if owner in ("", method)))


def _refuse_unknown_methods(text: str, methods: list[str]) -> None:
    for rule, owner in _owned_rules(text):
        if owner and owner not in methods:
            raise OptionError(f"--rules {rule}@{owner}: {owner!r} is not among the methods compared")


def _owned_rules(text: str) -> list[tuple[str, str]]:
    """The rules in `a,b@method`, each with the method it is for, "" for all."""
    from hiercos.methods import METHODS

    return [(rule, METHODS.canonical(owner) if owner else "") for rule, owner in _rules_with_owners(text)]


def _rules_with_owners(text: str) -> list[tuple[str, str]]:
    """The rules in `a,b@method`, each with the text behind its @."""
    parts = [part.strip().partition("@") for part in text.split(",")]
    return [(rule, owner) for rule, _, owner in parts]
