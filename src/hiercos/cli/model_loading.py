"""Loading of models for inference: a folder with torch, or an exported file with onnxruntime and without torch."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hiercos.cli.display.progress import checking_lines
from hiercos.cli.options.common import LoadOptions
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError, say
from hiercos.storage import Folder

if TYPE_CHECKING:
    from hiercos.data import Dataset, InputBatch, Kind, UnlabelledInputs
    from hiercos.decisions import Posterior
    from hiercos.model import StoredModel
    from hiercos.taxonomy import Floats


class FolderModel:
    """A model from a folder, which computes posteriors of inputs, with its decision rule.

    Args:
        folder: model folder.
        device_options: device and precision.
        loading: options for loading it.
    """

    def __init__(self, folder: Path, device_options: DeviceOptions, loading: LoadOptions) -> None:
        self.stored: StoredModel = loading.load(folder)
        self.device_options, self.kind, self.rule = device_options, self.stored.kind, self.stored.rule
        self.taxonomy, self.calibration = self.stored.model.taxonomy, self.stored.calibration

    def kind_of(self, source: str) -> "Kind":
        """The kind of the inputs in a file: that of the model, or vectors for features of a frozen backbone."""
        from hiercos.encoders import FrozenEncoder

        is_features = source.lower().endswith(".npz") and isinstance(self.stored.encoder, FrozenEncoder)
        return "vectors" if is_features else self.kind

    def stream(
        self, unlabelled: "UnlabelledInputs", batch_size: int | None, workers: int, *, energies: bool = False
    ) -> Iterator[tuple["InputBatch", "Posterior"]]:
        """The inputs batch by batch, each with its calibrated probabilities.

        Args:
            unlabelled: inputs to classify.
            batch_size: number of inputs in a batch of the network; None for a default by kind of input.
            workers: number of processes (threads for an exported file) that read inputs.
            energies: whether to compute the node energies that explain answers of Hier-COS.
        """
        from hiercos.encoders import ReadConfig
        from hiercos.model import posterior_batches

        config = ReadConfig(self.device_options.context(), batch_size, workers)
        yield from posterior_batches(self.stored, unlabelled, config, energies=energies)

    def node_scores(
        self, unlabelled: "UnlabelledInputs", batch_size: int | None, workers: int
    ) -> "Iterator[tuple[InputBatch, Floats]] | None":
        """The inputs batch by batch, each with its node scores; None unless the method is for several labels."""
        from hiercos.encoders import ReadConfig
        from hiercos.methods import METHODS
        from hiercos.model import node_score_batches

        if not METHODS.traits(self.stored.model.method).label_sets:
            return None
        return node_score_batches(
            self.stored, unlabelled, ReadConfig(self.device_options.fabric(), batch_size, workers)
        )


class ExportedModel:
    """A model from an ONNX file, with the methods of a `FolderModel`.

    Args:
        file: ONNX file.
        device_options: device and precision, which must be the defaults.
    """

    def __init__(self, file: Path, device_options: DeviceOptions) -> None:
        from hiercos.onnx import load_onnx_model

        if device_options.device not in ("auto", "cpu") or device_options.precision != DeviceOptions.precision:
            raise OptionError(f"{file}: an ONNX file always runs on the CPU: expected no --device and no --precision")
        self.model = load_onnx_model(file)
        self.kind, self.rule = self.model.kind, self.model.rule
        self.taxonomy, self.calibration = self.model.taxonomy, self.model.description.calibration

    def kind_of(self, source: str) -> "Kind":  # noqa: ARG002  # an exported model takes one kind
        """See `FolderModel`."""
        return self.kind

    def stream(
        self, unlabelled: "UnlabelledInputs", batch_size: int | None, workers: int, *, energies: bool = False
    ) -> Iterator[tuple["InputBatch", "Posterior"]]:
        """See `FolderModel`."""
        from hiercos.onnx import InferenceConfig

        config = InferenceConfig(batch_size, max(1, workers))
        yield from self.model.posterior_batches(unlabelled, config, energies=energies)

    def node_scores(self, unlabelled: "UnlabelledInputs", batch_size: int | None, workers: int) -> None:
        """None: a method for several labels is not exported."""


def open_model(model: Path, device_options: DeviceOptions, loading: LoadOptions) -> FolderModel | ExportedModel:
    """Open the model of a folder or of an ONNX file."""
    is_exported = model.suffix.lower() == ".onnx" and not model.is_dir()
    return ExportedModel(model, device_options) if is_exported else FolderModel(model, device_options, loading)


def held_out_samples(files: Folder, stored: "StoredModel", data: str, columns: ColumnOptions) -> "Dataset":
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
        **asdict(columns),
        callback=checking_lines(),
    )
    say(*samples.notes)
    return samples
