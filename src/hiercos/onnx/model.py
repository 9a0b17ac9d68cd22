"""An exported model in onnxruntime: vectors, texts or images in, answers out. Nothing here imports torch."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.callbacks import ProgressCallback
from hiercos.data import FloatArray, Inputs, Kind, TextFeatures, UnlabelledInputs, given_inputs
from hiercos.decisions import best_order_scores
from hiercos.errors import DataError
from hiercos.onnx.format import (
    LEAVES,
    PROBABILITIES,
    RISKS,
    OnnxDescription,
    OnnxError,
    onnx_library,
    read_description,
)
from hiercos.onnx.text_map import read_text_map
from hiercos.options import check_count
from hiercos.predictions import (
    Answer,
    Numbers,
    answer_rows,
    best_columns,
    check_top_k,
    named_answers,
    summed_probabilities,
    with_top_k,
)
from hiercos.records import line_name
from hiercos.taxonomy import Taxonomy

ROWS_AT_ONCE = {"vectors": 1024, "texts": 1024, "images": 16}


@dataclass(frozen=True)
class Asking:
    """How a model is asked.

    Attributes:
        batch_size: inputs at a time; None for what suits them.
        threads: that decode images.
        watcher: is told how far it is.

    Raises:
        ValueError: for a batch size or threads below 1.
    """

    batch_size: int | None = None
    threads: int = 1
    watcher: ProgressCallback | None = None

    def __post_init__(self) -> None:
        for name, value in (("batch_size", self.batch_size), ("threads", self.threads)):
            if value is not None:
                check_count(name, value)


@dataclass(frozen=True)
class Scores:
    """What a model says of a batch.

    Attributes:
        decided: the scores the classes are ranked by, shape (B, C).
        probabilities: of the classes, shape (B, C).
    """

    decided: Numbers
    probabilities: Numbers


@dataclass(frozen=True)
class OnnxModel:
    """An exported model, ready to be asked.

    Attributes:
        session: of onnxruntime.
        description: from the file's metadata.
        text_features: from texts to the graph's input, for a model of texts.
        source: what messages call it.
    """

    session: Any
    description: OnnxDescription
    text_features: TextFeatures | None = None
    source: str = "the ONNX model"

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree."""
        return self.description.taxonomy

    @property
    def kind(self) -> Kind:
        """What it reads."""
        return self.description.kind

    def __repr__(self) -> str:
        line = line_name(self.description.method, self.description.rule)
        return f"OnnxModel({line}, {self.kind}, {self.taxonomy!r})"

    def predict(self, inputs: Any, *, top_k: int | None = None, how: Asking | None = None) -> list[Answer]:
        """The best class of every text, image or vector under the model's rule.

        Args:
            inputs: texts; or images, as paths or opened by Pillow; or vectors, shape (M, F). One text or image alone
                counts as a list of one.
            top_k: how many classes to name beside the best one; none by default.
            how: to ask it.

        Returns:
            An answer for each input, a dict as a `hiercos.hub.Pipeline` gives it.

        Raises:
            DataError: for inputs of another kind or width, an empty text, or an image that cannot be read.
        """
        check_top_k(top_k)
        answers: list[Answer] = []
        for found in self.all_scores(given_inputs(inputs, self.kind), how or Asking()):
            classes = best_columns(found.decided, top_k or 1)
            nodes = summed_probabilities(found.probabilities, self.taxonomy)
            named = named_answers(self.taxonomy, classes, found.decided, nodes)
            answers += [with_top_k(best, top_k) for best in named]
        return answers

    def outputs(self, batch: FloatArray) -> dict[str, NDArray[Any]]:
        """Every output of the graph by name, for features (B, F) or prepared images (B, 3, S, S).

        Raises:
            DataError: for anything else.
        """
        taken = self.session.get_inputs()[0]
        sides = ", ".join(map(str, taken.shape[1:]))
        expected = f"{self.source}: the graph takes {taken.name} as numbers of shape (B, {sides})"
        try:
            numbers = np.ascontiguousarray(batch, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise DataError(f"{expected}, got something else ({error}); predict() takes {self.kind}") from error
        if list(numbers.shape[1:]) != taken.shape[1:]:
            raise DataError(f"{expected}, got shape {numbers.shape}; predict() takes {self.kind}")
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, {taken.name: numbers}), strict=True))

    def scores(self, batch: FloatArray) -> Scores:
        """Scores under the model's own rule: `crm` is part of the graph, `hops` an assignment made of its outputs.

        Raises:
            OnnxError: for a score that is not a number.
        """
        found = self.outputs(batch)
        if np.isnan(found[LEAVES]).any():
            raise OnnxError(f"{self.source}: a score is not a number")
        probabilities, risks = found[PROBABILITIES], found[RISKS]
        if self.description.rule == "hops":
            return Scores(best_order_scores(probabilities, risks, self.taxonomy), probabilities)
        return Scores(risks if self.description.rule == "crm" else found[LEAVES], probabilities)

    def all_scores(self, inputs: Inputs, how: Asking) -> Iterator[Scores]:
        """The scores of M inputs, batch by batch.

        Raises:
            DataError: if the inputs are of another kind or width than the model takes, or an image cannot be read.
        """
        if inputs.kind != self.kind:
            raise DataError(f"this model takes {self.kind}, got {inputs.kind}")
        done = 0
        if how.watcher:
            how.watcher.start(0, len(inputs))
        try:
            for batch in self._batches(inputs, how):
                yield self.scores(batch)
                done += len(batch)
                if how.watcher:
                    how.watcher.rows(done)
        finally:
            if how.watcher:
                how.watcher.close()

    def _batches(self, inputs: Inputs, how: Asking) -> Iterator[FloatArray]:
        """What the graph takes, batch by batch."""
        size = how.batch_size or ROWS_AT_ONCE[self.kind]
        parts = [range(start, min(start + size, len(inputs))) for start in range(0, len(inputs), size)]
        if inputs.kind == "images":
            yield from self._image_batches(inputs, parts, how.threads)
        elif inputs.kind == "vectors":
            vectors, width = np.asarray(inputs), self.session.get_inputs()[0].shape[1]
            if vectors.shape[1] != width:
                raise DataError(f"this model takes vectors of {width} features, got {vectors.shape[1]}")
            yield from (vectors[part.start : part.stop] for part in parts)
        else:
            assert self.text_features is not None
            yield from (self.text_features.transform(inputs.values(part)) for part in parts)

    def _image_batches(self, images: Inputs, parts: Sequence[range], threads: int) -> Iterator[FloatArray]:
        """Prepared images, shape (B, 3, S, S); those of the next batch are decoded while the model is at work."""
        transform = self.description.transform
        assert transform is not None
        with ThreadPoolExecutor(threads) as pool:
            waiting = [pool.submit(images.values, [row]) for row in parts[0]] if parts else []
            for following in [*parts[1:], range(0)]:
                opened = [image for future in waiting for image in future.result()]
                waiting = [pool.submit(images.values, [row]) for row in following]
                yield transform.scaled(transform.pixels(opened))


def load_onnx_model(path: str | Path, *, threads: int | None = None) -> OnnxModel:
    """A model that `hiercos export` wrote, with the file beside it that a model of texts needs.

    Args:
        path: the ONNX file.
        threads: of onnxruntime; as many as it finds useful by default.

    Raises:
        OnnxError: for a file that is missing, damaged or of another origin.
    """
    file = Path(path)
    if threads is not None:
        check_count("threads", threads)
    if not file.is_file():
        raise OnnxError(f"{file}: {'expected a file, this is a folder' if file.is_dir() else 'there is no such file'}")
    model = open_onnx_model(str(file), source=str(file), threads=threads)
    text_file = model.description.text_file
    if text_file is None:
        return model
    return OnnxModel(model.session, model.description, read_text_map(file, text_file), model.source)


def open_onnx_model(
    content: str | bytes,
    *,
    source: str = "the ONNX model",
    text_features: TextFeatures | None = None,
    threads: int | None = None,
) -> OnnxModel:
    """A model of a file's name or content.

    Args:
        content: the name, or the bytes.
        source: what messages call it.
        text_features: from texts to its input, where they are at hand.
        threads: as in `load_onnx_model`.

    Raises:
        OnnxError: for anything but an exported model.
    """
    runtime = onnx_library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # int8 weights become floats once, not each run
    try:
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no other base
        first = str(error).partition("\n")[0]
        raise OnnxError(f"{source}: onnxruntime cannot load it: {first}") from error
    description = read_description(session.get_modelmeta().custom_metadata_map, source)
    return OnnxModel(session, description, text_features, source)


def onnx_prediction_rows(
    model: OnnxModel, unlabelled: UnlabelledInputs, how: Asking, *, top: int | None = None, confidence: bool = False
) -> list[dict[str, Any]]:
    """The `answer_rows` of an exported model.

    Args:
        model: the model.
        unlabelled: what to predict.
        how: to ask it.
        top: so many rows per input, with a column `rank`; by default one, without it.
        confidence: with the probability of the class at the model's temperature, whatever its rule.
    """
    classes, scores, shares = [], [], []
    batch = unlabelled.whole()
    for found in model.all_scores(batch.inputs, how):
        best = best_columns(found.decided, top or 1)
        classes.append(best)
        scores.append(np.take_along_axis(found.decided, best, axis=1))
        shares.append(np.take_along_axis(found.probabilities, best, axis=1))
    return answer_rows(
        batch,
        model.taxonomy,
        np.concatenate(classes),
        np.concatenate(scores),
        ranked=top is not None,
        confidences=np.concatenate(shares) if confidence else None,
    )
