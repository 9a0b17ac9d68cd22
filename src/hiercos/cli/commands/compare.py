"""`hiercos compare`: compare methods on the user's data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.options import common as options
from hiercos.cli.options.backbones import BackboneOptions
from hiercos.cli.options.comparison import ResultOptions, command_statement, print_tuning, recommended
from hiercos.cli.options.groups import DataOptions, DeviceOptions, OptionError, grouped, say
from hiercos.cli.options.training import TrainingOptions
from hiercos.encoders import TFIDF, includes_tfidf
from hiercos.errors import DataError

if TYPE_CHECKING:
    from hiercos.data import Dataset
    from hiercos.records import Record
    from hiercos.report import Recommendation, Statement


FLAT_METHODS, TREE_METHODS = ("cross-entropy", "cross-entropy-mlp"), ("hier-cos", "committee")  # compared by default
TEXT_BASELINE, OTHER_BASELINE = "linear-svm", "logistic"  # standard flat baselines between them
LARGEST_TEXT_BASELINE = 20_000_000  # training texts times classes beyond which the first takes many minutes
ALL = "all"


@dataclass(frozen=True)
class VariantOptions:
    """Options for the variants of a comparison: methods, each under decision rules."""

    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas, or all (see hiercos methods).",
            show_default=(
                f"{', '.join((*FLAT_METHODS, *TREE_METHODS))}, and {TEXT_BASELINE} for texts, {OTHER_BASELINE} else"
            ),
        ),
    ] = None
    rules: Annotated[
        str | None,
        typer.Option(
            help="Decision rules (see docs/decisions.md), separated by commas; rule@method for one method.",
            show_default="none,crm, and the default method's rule for it and for methods without the tree",
        ),
    ] = None
    reference: Annotated[
        str | None,
        typer.Option(
            help="Variant to compare the others with: a method, or 'method + rule'; by default the best flat one."
        ),
    ] = None

    def check(self) -> None:
        """Raise for an unknown rule or method, before torch is imported and the data are read."""
        self._named_rules()
        self._named_methods()

    def names(self, baseline: str) -> list[str]:
        """The methods to compare: those of the option, or the default ones with a baseline, "" for none."""
        if self.methods == ALL:
            from hiercos.methods import METHODS

            return list(METHODS)
        return self._named_methods() or [name for name in (*FLAT_METHODS, baseline, *TREE_METHODS) if name]

    def by_method(self, baseline: str) -> dict[str, tuple[str, ...]]:
        """The rules of each method, from options that were checked or by default, without duplicates; see `names`."""
        methods = self.names(baseline)
        owned = self._named_rules() or _default_rules(methods)
        for rule, owner in owned:
            if owner and owner not in methods:
                raise OptionError(f"--rules {rule}@{owner}: {owner!r} is not among the methods compared")
        return {
            method: tuple(dict.fromkeys(rule for rule, owner in owned if owner in ("", method))) for method in methods
        }

    def _named_methods(self) -> list[str]:
        """Names in `--methods`, without duplicates; none for all methods, and without the option."""
        if self.methods is None or self.methods == ALL:
            return []
        from hiercos.methods import METHODS

        return list(dict.fromkeys(map(METHODS.checked_name, options.names_in(self.methods))))

    def _named_rules(self) -> list[tuple[str, str]] | None:
        """Names in `--rules`, each with the method after its @, "" for all methods; None for the default rules."""
        if self.rules is None:
            return None
        from hiercos.decisions import RULES
        from hiercos.methods import METHODS

        parts = [name.partition("@") for name in options.names_in(self.rules)]
        return [(RULES.checked_name(rule), METHODS.checked_name(owner) if owner else "") for rule, _, owner in parts]

    def named_reference(self, rules: Mapping[str, Sequence[str]]) -> str | None:
        """The name of the reference in tables, or None; an error if it is not among the variants, see `by_method`."""
        from hiercos.decisions import RULES
        from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS
        from hiercos.records import variant_name
        from hiercos.report import checked_reference

        if self.reference is None:
            return None
        names = [variant_name(method, rule) for method, own in rules.items() for rule in own]
        method, _, rule = (part.strip() for part in self.reference.partition("+"))
        method, rule = METHODS.real_name(method), RULES.real_name(rule)
        if method == DEFAULT:
            rule = rule or DEFAULT_RULE
        return checked_reference(variant_name(method, rule) if rule else method, names)


def _default_rules(methods: list[str]) -> list[tuple[str, str]]:
    """The default rules: none and crm for every method, and the default's rule for it and for flat methods.

    Flat methods have the same rule, so that what it brings is not credited to the tree.
    """
    from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS

    flat = [name for name in methods if not METHODS.traits(name).uses_tree] if DEFAULT in methods else []
    return [("none", ""), ("crm", ""), *((DEFAULT_RULE, name) for name in (DEFAULT, *flat) if name in methods)]


@dataclass(frozen=True)
class SearchOptions:
    """Options of the search of settings, of learning curves, and of the model to ship."""

    tune: Annotated[
        int, typer.Option(min=0, help="Trials in the search of each method's settings, including the given ones.")
    ] = 0
    shots: Annotated[
        str | None,
        typer.Option(
            help="Learning curves: training samples of a class, as 1,2,5,all; each seed draws its own.",
            show_default="all, no curves",
        ),
    ] = None
    ship: Annotated[
        Path | None, typer.Option(help="New folder for the recommended model, with its rule.", show_default=False)
    ] = None
    ship_for: Annotated[
        str, typer.Option(help="What the recommended model is for: near answers (distance), top1, or hops.")
    ] = "distance"

    def check(self) -> None:
        """Raise for impossible values, options that exclude each other, and a folder that exists."""
        from hiercos.report import PURPOSES

        if self.ship_for not in PURPOSES:
            raise OptionError(f"--ship-for {self.ship_for}: expected {', '.join(PURPOSES)}")
        texts = [] if self.shots is None else options.names_in(self.shots)
        for text in texts:
            if text != ALL and not (text.isdecimal() and int(text) > 0):
                raise OptionError(f"--shots {self.shots}: expected numbers of at least 1, or all, got {text!r}")
        if self.ship is not None:
            from hiercos.benchmark import check_shipping

            check_shipping(self.ship)
        if texts and (self.tune or self.ship):
            raise OptionError("--shots cannot be combined with --tune or --ship: learning curves choose no model")

    @property
    def points(self) -> list[int | None]:
        """The numbers of samples of learning curves in ascending order, None (all) last; none without curves."""
        texts = [] if self.shots is None else options.names_in(self.shots)
        return [*sorted({int(text) for text in texts if text != ALL}), *[None] * (ALL in texts)]


@grouped
def compare(
    *,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Folder for the runs, results.csv, results.json and report.html.")],
    training: TrainingOptions,
    columns: DataOptions,
    device_options: DeviceOptions,
    inputs: BackboneOptions,
    variants: VariantOptions,
    search: SearchOptions,
    shown: ResultOptions,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method.")] = 3,
    jobs: Annotated[int, typer.Option(min=1, help="Parallel runs, each in its own process; on a CPU only.")] = 1,
) -> None:
    """Train several methods on the same features, splits and seeds, and report the gain from the hierarchy.

    An interrupted comparison resumes with the same --out: finished runs are not repeated.
    """
    for group in (shown, search, training, variants):
        group.check()
    if "folds" in training.given and (search.tune or search.shots):
        raise OptionError("--folds cannot be combined with --tune or --shots, which choose on validation rows")
    options.check_out(out)
    columns.check(data)
    device_options.check_names()
    inputs.check_name()
    training.settings_of(variants.names(""), device_options.precision)
    from hiercos.benchmark import Entry, Tuning, learning_curves, ship_model
    from hiercos.benchmark import compare as run_grid
    from hiercos.cli.display.progress import observer
    from hiercos.report import learning_curve_results
    from hiercos.training import encoder_name

    if variants.methods is not None:  # faults are reported before the data are read
        variants.named_reference(variants.by_method(""))
    dataset = columns.read(data)
    chosen = variants.by_method(flat_baseline(dataset, encoder_name(dataset, inputs.backbone)))
    reference = variants.named_reference(chosen)
    _check_learnable(list(chosen), dataset)
    if dataset.kind == "texts" and encoder_name(dataset, inputs.backbone) == TFIDF:
        say("Sentence vectors may help on short texts: pip install 'hiercos[text]' and add --backbone tfidf+minilm.")
    configs = training.settings_of(chosen, device_options.precision)
    entries = [Entry(configs[name], own) for name, own in chosen.items()]
    first, points = entries[0].settings.seed, search.points
    runs = range(first, first + seeds)
    with device_options.processes() as fabric:
        features = inputs.features(fabric, dataset, training.backbone)
        with observer(list(chosen), seeds=seeds * max(1, len(points)), trials=search.tune) as display:
            how: dict[str, Any] = {"jobs": jobs, "observer": display}
            if points:
                records = learning_curves(fabric, features, [(shots, entries) for shots in points], runs, out, **how)
            else:
                tuning = Tuning(search.tune) if search.tune else None
                records = run_grid(fabric, features, entries, runs, out, tuning=tuning, **how)
        if fabric.is_global_zero and points:
            shown.show(learning_curve_results(records), out)
        elif fabric.is_global_zero:
            advised, spread = recommended(records, dataset, out, search.ship_for)
            command = command_statement(advised.record, data, training.backbone, columns, inputs, device_options)
            told: dict[str, Any] = {"reference": reference, "row_spread": spread}
            _show(records, advised, command=command, out=out, shown=shown, **told)
            if search.ship is not None:
                ship_model(advised.record, out, search.ship)
                say(f"The model {advised.record.name} of seed {advised.record.seed} is in {search.ship}.")


def flat_baseline(dataset: "Dataset", backbone: str | None) -> str:
    """The standard flat method for data; "" if it cannot learn from them within minutes.

    Args:
        dataset: data to compare on.
        backbone: name of the backbone that computes features; None for vectors.
    """
    has_ngrams, rows = includes_tfidf(backbone or ""), len(dataset.training_rows)
    is_affordable = not has_ngrams or rows * dataset.taxonomy.num_classes <= LARGEST_TEXT_BASELINE
    return (TEXT_BASELINE if has_ngrams else OTHER_BASELINE) if is_affordable else ""


def _check_learnable(methods: Sequence[str], dataset: "Dataset") -> None:
    """Raise for data that cannot be compared on, before anything is trained, and say who learns from a part of them.

    Refused: several labels of a sample, test rows without a class, and a taxonomy that a method cannot use.
    """
    from hiercos.benchmark import check_comparable
    from hiercos.methods import METHODS
    from hiercos.training import learnable_notes

    check_comparable(dataset)
    if not dataset.is_class[dataset.rows("test")].any():
        raise DataError(f"{dataset.name}: no test row is labelled with a class, so answers cannot be compared")
    for name in methods:
        METHODS.check_taxonomy(name, dataset.taxonomy)
    say(*learnable_notes(dataset, methods))


def _show(
    records: "list[Record]",
    advised: "Recommendation",
    *,
    command: "Statement",
    out: Path,
    shown: ResultOptions,
    **others: Any,
) -> None:
    """Write the results in every format, with the analysis of the recommended variant, and print them.

    Args:
        records: records of all runs.
        advised: recommended variant.
        command: statement with the command that trains it.
        out: folder of the comparison.
        shown: options of the output.
        **others: further arguments of `comparison_results`.
    """
    from hiercos.benchmark import ReportSource
    from hiercos.records import RUNS
    from hiercos.report import comparison_results

    print_tuning(records)
    results = comparison_results(
        records,
        advice=[*advised.statements, command],
        recommended=advised.variant.name,
        recommended_seed=advised.record.seed,
        **others,
    )
    flat = results.sections[0].reference
    source = ReportSource(
        out, records, results.recommended, results.recommended_seed, reference=flat.name if flat else ""
    )
    shown.show(results, out, source.analysis())
    compared = {record.method for record in records}
    if earlier := sorted(path.name for path in (out / RUNS).iterdir() if path.name not in compared):
        say(f"Earlier runs of {', '.join(earlier)} in {out / RUNS} are not part of these results.")
