"""`hiercos extend`: a model with the classes of a larger taxonomy, trained on new data."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.display.output import TableFormat, check_format
from hiercos.cli.display.progress import row_progress
from hiercos.cli.options import common as options
from hiercos.cli.options.common import LoadOptions, check_model_folder
from hiercos.cli.options.groups import ColumnOptions, DataOptions, DeviceOptions, OptionError, grouped, say
from hiercos.cli.options.training import ExtensionOptions
from hiercos.records import refuse_finished_run

if TYPE_CHECKING:
    from hiercos.model import Classifier, Memory
    from hiercos.taxonomy import Taxonomy, TaxonomyChange


@grouped
def extend(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train wrote.")],
    data: options.Data,
    taxonomy: Annotated[Path, typer.Option(help="File with the new label tree.")],
    out: Annotated[Path, typer.Option(help="Folder for the extended model and its record.")],
    training: ExtensionOptions,
    columns: ColumnOptions,
    device_options: DeviceOptions,
    loading: LoadOptions,
    memory: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Remembered samples of each label to train on again and to keep; 0 for none.",
            show_default="all that the model has",
        ),
    ] = None,
    crosswalk: Annotated[
        Path | None,
        typer.Option(help="Table with the new nodes of old ones; see hiercos taxonomy crosswalk.", show_default=False),
    ] = None,
    format: TableFormat = "table",
    workers: options.Workers = 0,
    corrections: options.Corrections = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an unfinished run in --out.")] = False,
) -> None:
    """Extend a model to a taxonomy with new, renamed or moved nodes, and train it on labelled data.

    Nodes are matched by --crosswalk, by id, then by path, and the result is reported before the training. Matched nodes
    keep their weights, new ones start from their parent's. Samples that hiercos train kept (--memory) are trained on
    again.
    """
    check_format(format, None)
    options.check_out(out)
    if not resume:
        refuse_finished_run(out)
    device_options.check_names()
    training.check()
    check_model_folder(model)  # before torch is imported
    labelled = DataOptions(**asdict(columns), taxonomy=taxonomy)
    labelled.check(data)
    from hiercos.cli.display.progress import training_callback
    from hiercos.cli.display.tables import print_records
    from hiercos.encoders import ReadConfig
    from hiercos.taxonomy import open_taxonomy
    from hiercos.training import extension_settings, forgetting_notes, grown_features, growth_accuracy, learnable_notes
    from hiercos.training import train as train_model

    stored = loading.load(model)
    change = _change(stored.model.taxonomy, open_taxonomy(taxonomy), crosswalk)
    _report_change(change, taxonomy)
    kept = _chosen_memory(stored, memory, model)
    per_class = 0 if kept is None else memory or _most_remembered(kept)
    _check_kept(training.given, stored)
    given = training.settings_of([stored.model.method], device_options.precision)[stored.model.method]
    settings = extension_settings(stored, replace(given, memory=per_class))
    targets, kinds = settings.targets, stored.columns
    dataset = labelled.read(data, purpose="extend", targets=targets, corrections=corrections, columns=kinds)
    say(*learnable_notes(dataset, [settings.method]))
    with device_options.processes() as fabric:
        reading = ReadConfig(fabric, workers=workers, callback=row_progress(dataset.kind, "reading"))
        features = grown_features(stored, dataset, change, kept, reading)
        say(*forgetting_notes(features))
        callback = training_callback(settings)
        trained = train_model(features, settings, fabric=fabric, folder=out, resume=resume, callback=callback)
        if fabric.is_global_zero:
            record = trained.records[stored.rule.name]
            if len(dataset.rows("test")) or format != "table":
                print_records([record], format)
            say(*growth_accuracy(fabric, features, out, model).lines(), f"The extended model is in {out}.")


def _change(old: "Taxonomy", new: "Taxonomy", table: Path | None) -> "TaxonomyChange":
    """The nodes of two taxonomies that belong together, by a table of the user, too."""
    from hiercos.taxonomy import crosswalk, taxonomy_change

    if table is None:
        return taxonomy_change(old, new)
    from hiercos.evaluation import read_crosswalk

    return crosswalk(old, new, read_crosswalk(table).links(old, new)).matched


def _report_change(change: "TaxonomyChange", taxonomy: Path) -> None:
    """Print what became of each node; an error if no node was matched."""
    say(*change.lines())
    if not (change.old_nodes >= 0).any():
        raise OptionError(
            f"--taxonomy {taxonomy}: expected nodes of the model's taxonomy, none has the same id or path"
        )


def _chosen_memory(stored: "Classifier", per_class: int | None, model: Path) -> "Memory | None":
    """Remembered samples to train on again, at most `per_class` of each label (None for all); None without any."""
    if stored.memory is None:
        if per_class:
            raise OptionError(f"--memory {per_class}: {model} has no memory; hiercos train --memory keeps one")
        return None
    if per_class is None:
        return stored.memory
    from hiercos.model import Memory

    return Memory.choose(stored.memory.features, stored.memory.labels, per_class) if per_class else None


def _check_kept(given: Iterable[str], stored: "Classifier") -> None:
    """Raise for a setting that an extended model keeps."""
    from hiercos.methods import METHODS
    from hiercos.training import KEPT_SETTINGS

    for name in given:
        if name in KEPT_SETTINGS or name in METHODS.options(stored.model.method):
            raise OptionError(f"--set {name}: expected none, since an extended model keeps its method with its options")


def _most_remembered(memory: "Memory") -> int:
    """Largest number of remembered samples of a label."""
    return int(memory.labels.bincount().max())
