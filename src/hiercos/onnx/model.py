"""Inference with an exported model in onnxruntime, on vectors, texts or images; this module does not import torch."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hiercos.checks import check_count
from hiercos.data import ColumnKinds, Float32Array, Inputs, Kind, ProgressCallback
from hiercos.decisions import HeldOutChains, Posterior, Rule
from hiercos.encoders import ColumnFeatures
from hiercos.errors import DataError
from hiercos.model import BaseClassifier, ClassScores
from hiercos.onnx.format import (
    ENERGIES,
    EVIDENCE,
    LEAVES,
    OnnxDescription,
    OnnxError,
    check_seal,
    onnx_library,
    read_description,
)
from hiercos.records import variant_name
from hiercos.taxonomy import Taxonomy

GRAPH_BATCH_SIZES = {"vectors": 1024, "texts": 1024, "columns": 1024, "images": 16}  # batch size of the graph
DENSE_NUMBERS = 2**23  # numbers in a batch of dense n-gram vectors: 32 MB
ROWS_READ = {"vectors": 4096, "texts": 4096, "columns": 4096, "images": 256}  # rows read from a file at a time


@dataclass(frozen=True)
class InferenceConfig:
    """Settings of a pass over inputs.

    Raises:
        ValueError: a batch size or number of threads below 1.
    """

    batch_size: int | None = None  # number of inputs in a batch; None for a default by kind of input
    threads: int = 1  # number of threads that decode images
    callback: ProgressCallback | None = None  # progress callback; none by default

    def __post_init__(self) -> None:
        for name, value in (("batch_size", self.batch_size), ("threads", self.threads)):
            if value is not None:
                check_count(name, value)


@dataclass(frozen=True)
class OnnxModel(BaseClassifier[InferenceConfig]):
    """An exported model, which answers as the `Classifier` of its folder does."""

    session: Any  # inference session of onnxruntime
    description: OnnxDescription  # description read from the file's metadata
    source: str = "the ONNX model"  # name of the model in messages
    no_reasons: ClassVar[str] = "an ONNX file does not keep what its scores are sums of; the folder of the model may"

    @property
    def taxonomy(self) -> Taxonomy:
        """The taxonomy of the classes."""
        return self.description.taxonomy

    @property
    def kind(self) -> Kind:
        """The kind of its inputs."""
        return self.description.kind

    @property
    def columns(self) -> ColumnKinds | None:
        """Kind of each column of a model of columns."""
        text_map = self.description.text_map
        features = None if text_map is None else text_map.features
        return features.columns if isinstance(features, ColumnFeatures) else None

    @property
    def rule(self) -> Rule:  # type: ignore[override]  # part of the description
        """The decision rule."""
        return self.description.rule

    @property
    def calibration(self) -> HeldOutChains | None:  # type: ignore[override]  # part of the description
        """Calibration samples for the targets of back-off; None if there are none."""
        return self.description.calibration

    def __repr__(self) -> str:
        variant = variant_name(self.description.method, self.rule.name)
        return f"OnnxModel({variant}, {self.kind}, {self.taxonomy!r})"

    @classmethod
    def load(cls, path: str | Path, *, threads: int | None = None) -> "OnnxModel":
        """Load a model that `hiercos export` wrote.

        Args:
            path: ONNX file.
            threads: number of threads of onnxruntime; its own default if None.

        Raises:
            OnnxError: a file that is missing, damaged or not written by `hiercos export`.
        """
        file = Path(path)
        if threads is not None:
            check_count("threads", threads)
        if not file.is_file():
            found = "expected a file, this is a folder" if file.is_dir() else "there is no such file"
            raise OnnxError(f"{file}: {found}")
        return open_onnx_model(file.read_bytes(), source=str(file), threads=threads)

    def read_size(self, config: InferenceConfig | None) -> int:
        """Number of inputs to read at a time."""
        return (None if config is None else config.batch_size) or ROWS_READ[self.kind]

    def outputs(self, batch: Float32Array, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Outputs of the graph by name, all by default, for features (B, F) or preprocessed images (B, 3, S, S).

        Raises:
            DataError: input of another shape or type.
        """
        taken = self.session.get_inputs()[0]
        sides = ", ".join(map(str, taken.shape[1:]))
        expected = f"{self.source}: the graph takes {taken.name} as numbers of shape (B, {sides})"
        try:
            numbers = np.ascontiguousarray(batch, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise DataError(f"{expected}, got something else ({error}); answers() takes {self.kind}") from error
        if list(numbers.shape[1:]) != taken.shape[1:]:
            raise DataError(f"{expected}, got shape {numbers.shape}; answers() takes {self.kind}")
        names = names or [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, {taken.name: numbers}), strict=True))

    @cached_property
    def _optional(self) -> list[str]:
        """Names of the outputs that only the graphs of some methods have."""
        has = [output.name for output in self.session.get_outputs()]
        return [name for name in (EVIDENCE, ENERGIES) if name in has]

    def scores(self, inputs: Inputs, config: InferenceConfig | None = None, *, energies: bool = False) -> ClassScores:
        """Class scores, and on request the energies of the nodes, if the graph has any.

        Raises:
            DataError: if the inputs are of another kind or width than the model takes, or an image cannot be read.
        """
        if inputs.kind != self.kind:
            raise DataError(f"this model takes {self.kind}, got {inputs.kind}")
        config = config or InferenceConfig()
        names = [LEAVES, *(name for name in self._optional if energies or name != ENERGIES)]
        found: list[dict[str, NDArray[Any]]] = []
        if config.callback:
            config.callback.start(0, len(inputs))
        try:
            done = 0
            for batch in self._batches(inputs, config):
                found.append(self.outputs(batch, names))
                done += len(batch)
                if config.callback:
                    config.callback.rows(done)
        finally:
            if config.callback:
                config.callback.close()
        tables = {name: np.concatenate([each[name] for each in found]) for name in names}
        return ClassScores(tables[LEAVES], tables.get(EVIDENCE), tables.get(ENERGIES))

    def calibrated(self, scores: ClassScores) -> Posterior:
        """Calibrated probabilities from the scores of `scores`.

        Raises:
            PosteriorError: a score that is NaN.
        """
        return scores.posterior(self.taxonomy, self.description.temperature)

    def _batches(self, inputs: Inputs, config: InferenceConfig) -> Iterator[Float32Array]:
        """The input of the graph, batch by batch."""
        size = config.batch_size or self._rows_at_once()
        parts = [range(start, min(start + size, len(inputs))) for start in range(0, len(inputs), size)]
        if inputs.kind == "images":
            yield from self._image_batches(inputs, parts, config.threads)
        elif inputs.kind == "vectors":
            vectors, width = np.asarray(inputs), self.session.get_inputs()[0].shape[1]
            if vectors.shape[1] != width:
                raise DataError(f"this model takes vectors of {width} features, got {vectors.shape[1]}")
            yield from (vectors[part.start : part.stop] for part in parts)
        else:
            text_map = self.description.text_map
            assert text_map is not None
            own = (inputs.take(part) if inputs.kind == "columns" else inputs.values(part) for part in parts)
            yield from map(text_map, own)

    def _rows_at_once(self) -> int:
        """Batch size of the graph; dense vectors of many n-grams are wide, so few of them are made at a time."""
        text_map = self.description.text_map
        if text_map is not None and text_map.components is None:
            return max(1, min(GRAPH_BATCH_SIZES[self.kind], DENSE_NUMBERS // max(1, text_map.features.width)))
        return GRAPH_BATCH_SIZES[self.kind]

    def _image_batches(self, images: Inputs, parts: Sequence[range], threads: int) -> Iterator[Float32Array]:
        """Preprocessed images, shape (B, 3, S, S); the next batch is decoded while the model runs."""
        transform = self.description.transform
        assert transform is not None
        with ThreadPoolExecutor(threads) as pool:
            waiting = [pool.submit(images.values, [row]) for row in parts[0]] if parts else []
            for following in [*parts[1:], range(0)]:
                opened = [image for future in waiting for image in future.result()]
                waiting = [pool.submit(images.values, [row]) for row in following]
                yield transform.scaled(transform.pixels(opened))


def open_onnx_model(
    content: bytes,
    *,
    source: str = "the ONNX model",
    threads: int | None = None,
) -> OnnxModel:
    """Open a model from the content of a file.

    Args:
        content: bytes of the file.
        source: name of the model in messages.
        threads: number of threads, as in `OnnxModel.load`.
    """
    checked = check_seal(content, source)
    runtime = onnx_library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # convert int8 weights once, not in each run
    try:
        session = runtime.InferenceSession(
            content, options, providers=["CPUExecutionProvider"], enable_fallback=False
        )  # a second attempt would print to standard output
        properties = session.get_modelmeta().custom_metadata_map
    except Exception as error:  # onnxruntime's errors have no other common base
        first = str(error).partition("\n")[0]
        raise OnnxError(f"{source}: onnxruntime cannot load it: {first}") from error
    description = read_description(properties, source, checked=checked)
    return OnnxModel(session, description, source)
