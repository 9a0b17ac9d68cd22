"""The two ways to ask a model: a folder through torch, an exported file through onnxruntime and without torch."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hiercos.cli.display.row_progress import checking_lines, row_progress
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError
from hiercos.cli.options.path_checks import check_model_folder

if TYPE_CHECKING:
    from hiercos.data import Kind, UnlabelledInputs
if TYPE_CHECKING:
    from hiercos.data import TestSamples
    from hiercos.engine import StoredModel

Rows = list[dict[str, Any]]
Ask = Callable[["UnlabelledInputs", int | None, int, int | None], Rows]  # inputs, batch size, workers, top

DOING = "predicting"


def is_exported(model: Path) -> bool:
    """Whether a model is a file of `hiercos export` rather than a folder."""
    return model.suffix.lower() == ".onnx" and not model.is_dir()


def open_stored(model: Path, place: DeviceOptions) -> tuple["Kind", Ask]:
    """What a model folder reads, and how to ask it."""
    check_model_folder(model)
    from hiercos.engine import load_model, prediction_rows

    stored = load_model(model)

    def ask(unlabelled: "UnlabelledInputs", batch_size: int | None, workers: int, top: int | None) -> Rows:
        config = place.read_config(batch_size, workers, kind=stored.kind, doing=DOING)
        return prediction_rows(stored, unlabelled, config, top=top, confidence=True)

    return stored.kind, ask


def open_exported(model: Path, place: DeviceOptions) -> tuple["Kind", Ask]:
    """What an exported file reads, and how to ask it; workers are threads that decode images."""
    from hiercos.onnx import Asking, load_onnx_model, onnx_prediction_rows

    if place.device not in ("auto", "cpu") or place.precision != DeviceOptions.precision:
        raise OptionError(f"{model}: an ONNX file runs on the CPU as it is: expected no --device and no --precision")
    exported = load_onnx_model(model)

    def ask(unlabelled: "UnlabelledInputs", batch_size: int | None, workers: int, top: int | None) -> Rows:
        how = Asking(batch_size, max(1, workers), row_progress(exported.kind, DOING))
        return onnx_prediction_rows(exported, unlabelled, how, top=top, confidence=True)

    return exported.kind, ask


def held_out_samples(folder: Path, stored: "StoredModel", data: str, columns: ColumnOptions) -> "TestSamples":
    """The test rows of data for the model of a folder, whose record says what it was trained on; notes go to stderr."""
    from hiercos.data import load_test_samples
    from hiercos.records import Record

    record = Record.find(folder, stored.rule)
    known = {} if record is None else record.data
    samples = load_test_samples(
        data,
        stored.model.taxonomy,
        trained_on=known.get("fingerprint"),
        embedded_from=known.get("embedded_from", {}).get("fingerprint"),
        **asdict(columns),
        callback=checking_lines(),
    )
    for note in samples.notes:
        typer.echo(note, err=True)
    return samples
