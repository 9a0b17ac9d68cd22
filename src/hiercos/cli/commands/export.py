"""`hiercos export`: export a model to an ONNX file, checked before it is written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hiercos.cli.display.progress import row_progress
from hiercos.cli.model_loading import held_out_samples
from hiercos.cli.options.common import LoadOptions, check_target, opened_model_folder
from hiercos.cli.options.groups import ColumnOptions, OptionError, grouped, say

if TYPE_CHECKING:
    from hiercos.data import Dataset
    from hiercos.model import Classifier
    from hiercos.onnx import OnnxExport


@dataclass(frozen=True)
class ExportOptions:
    """Options for what the exported file takes and how it is made smaller."""

    start: Annotated[
        Literal["inputs", "features"],
        typer.Option(
            "--from",
            help="Input of the file: inputs (those of the model), or features (without the backbone).",
        ),
    ] = "inputs"
    int8: Annotated[
        bool, typer.Option("--int8", help="Quantise the weights to int8: smaller, and slightly less exact.")
    ] = False
    level: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Prune a model of hier-cos to the nodes of one level, with a model of its own.",
            show_default=False,
        ),
    ] = None
    data: Annotated[
        str | None,
        typer.Option(
            help="Labelled data, to measure the cost of --int8 or --level on its test rows.", show_default=False
        ),
    ] = None

    def check(self) -> None:
        """Raise for options that exclude each other."""
        if self.data is not None and not self.int8 and self.level is None:
            raise OptionError("--data: expected --int8 or --level with it, whose cost it measures")
        if self.int8 and self.level is not None:
            raise OptionError("expected one of --int8 and --level")


@grouped
def export(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train wrote.")],
    onnx: Annotated[Path, typer.Option(help="File to write, with the extension .onnx.")],
    options: ExportOptions,
    columns: ColumnOptions,
    loading: LoadOptions,
) -> None:
    """Write a model as an ONNX file that hiercos predict and any ONNX runtime can use without torch.

    The exported model is first compared with PyTorch: nothing is written if they differ by more than 1e-4.
    """
    if onnx.suffix.lower() != ".onnx":
        raise OptionError(f"--onnx {onnx}: expected a name that ends in .onnx")
    check_target("--onnx", onnx)
    options.check()
    folder = opened_model_folder(model)
    stored = loading.load(folder)
    from hiercos.errors import DataError
    from hiercos.onnx import OPSET, export_onnx, to_int8
    from hiercos.paper import level_model
    from hiercos.training import read_report_inputs

    samples = None if options.data is None else held_out_samples(folder, stored, options.data, columns)
    if options.level is not None:
        whole, stored = stored, level_model(stored, options.level)
        if samples is not None:
            say(*_pruning_lines(whole, stored, samples, options.level))
            samples = None
    texts = [each["text"] for each in read_report_inputs(folder.path).values() if each.get("text")]
    exact = export_onnx(stored, start=options.start, examples=texts)
    if samples is not None and samples.inputs.kind != exact.description.kind:
        raise DataError(
            f"{options.data}: expected {exact.description.kind}, which the file takes, got {samples.inputs.kind}"
        )
    written = to_int8(exact) if options.int8 else exact
    cost = _cost(exact, written, samples) if options.int8 else None  # before anything is written
    file = written.write(onnx)
    difference = f"difference from PyTorch {exact.difference:.1e}" + (
        f", with int8 {written.difference:.1e}" if options.int8 else ""
    )
    say(f"Wrote {file} ({file.stat().st_size:,} bytes): ONNX opset {OPSET}, rule {stored.rule.name}, {difference}.")
    if cost:
        say(cost)


def _pruning_lines(whole: "Classifier", pruned: "Classifier", samples: "Dataset", level: int) -> list[str]:
    """Level accuracy, size and time of a whole model and of its level, as lines of text."""
    from hiercos.paper import level_costs

    rows = level_costs(whole, pruned, samples.inputs, samples.labels, level)
    return [
        f"{name}: accuracy at level {level} {row.accuracy:.4f} on {row.samples:,} samples, {row.size:,} bytes, "
        f"{row.microseconds:.1f} µs a sample"
        for name, row in rows.items()
    ]


def _cost(exact: "OnnxExport", written: "OnnxExport", samples: "Dataset | None") -> str:
    """A sentence on the loss of quality with int8."""
    import numpy as np

    from hiercos.evaluation import posterior_metrics
    from hiercos.onnx import InferenceConfig

    if samples is None:
        return "the cost of int8 was not measured: add --data DATA with labelled test rows"
    means = []
    for model in (exact.opened(), written.opened()):
        config = InferenceConfig(callback=row_progress(model.kind, "measuring"))
        found = posterior_metrics(model.posterior(samples.inputs, config), samples.labels, model.rule)
        means.append(np.nanmean(found.columns(("hops", "top1")), axis=0))
    (hops, top1), (more_hops, more_top1) = means[1], means[1] - means[0]
    return (
        f"on {len(samples.labels):,} test rows int8 has HOPS {hops:.4f} ({more_hops:+.4f}) "
        f"and top-1 {top1:.4f} ({more_top1:+.4f})"
    )
