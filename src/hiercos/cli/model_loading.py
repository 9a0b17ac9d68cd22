"""Loading of models for inference: a folder with torch, or an exported file with onnxruntime and without torch."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiercos.cli.display.progress import checking_lines
from hiercos.cli.options.common import LoadOptions
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError, say
from hiercos.storage import Folder

if TYPE_CHECKING:
    from hiercos.data import Dataset
    from hiercos.model import BaseClassifier, Classifier


def open_model(
    model: Path | Folder, device_options: DeviceOptions, loading: LoadOptions, *, batch_size: int | None, workers: int
) -> "tuple[BaseClassifier[Any], Any]":
    """The model of a folder or of an ONNX file, and the settings of its pass over inputs."""
    if isinstance(model, Folder) or model.suffix.lower() != ".onnx" or model.is_dir():
        loaded = loading.load(model)  # finds a missing folder before torch is imported
        from hiercos.encoders import ReadConfig

        return loaded, ReadConfig(device_options.context(), batch_size, workers)
    if device_options.device not in ("auto", "cpu") or device_options.precision != DeviceOptions.precision:
        raise OptionError(f"{model}: an ONNX file always runs on the CPU: expected no --device and no --precision")
    from hiercos.onnx import InferenceConfig, OnnxModel

    return OnnxModel.load(model), InferenceConfig(batch_size, max(1, workers))


def held_out_samples(files: Folder, stored: "Classifier", data: str, columns: ColumnOptions) -> "Dataset":
    """The test rows of data for a model, whose record identifies its training data; notes go to stderr."""
    from hiercos.data import load_test_samples
    from hiercos.records import Record

    record = Record.find(files, stored.rule.name)
    known = {} if record is None else record.data
    samples = load_test_samples(
        data,
        stored.model.taxonomy,
        trained_on=known.get("fingerprint"),
        embedded_from=known.get("embedded_from", {}).get("fingerprint"),
        kinds=stored.kinds,
        columns=stored.columns,
        **asdict(columns),
        callback=checking_lines(),
    )
    say(*samples.notes)
    return samples
