"""A trained model as one call: texts, images or vectors in, names of classes and their ancestors out."""

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hiercos.data import DataError
from hiercos.data.dataset import Inputs, Kind, check_inputs
from hiercos.data.decoding import pillow, upright_rgb
from hiercos.data.images import Images, Rows, file_content
from hiercos.decisions import class_probabilities
from hiercos.engine import Reading, StoredModel, class_scores
from hiercos.engine.predict import best_classes, model_samples
from hiercos.engine.rules import ROWS_AT_ONCE, decided_scores
from hiercos.geometry import node_probabilities
from hiercos.interop.device import launched
from hiercos.interop.hub import PretrainedModel
from hiercos.taxonomy import Taxonomy

if TYPE_CHECKING:
    from PIL.Image import Image

Answer = dict[str, Any]


class Pipeline:
    """A model that is asked by calling it.

    Args:
        pretrained: the model.
        how: device, batch size and workers to read inputs with.
    """

    def __init__(self, pretrained: PretrainedModel, how: Reading) -> None:
        self.pretrained, self.how = pretrained, how

    def __call__(self, inputs: Any, *, top_k: int | None = None) -> list[Answer]:
        """The best class of every input.

        Args:
            inputs: texts; or images, as paths or opened by Pillow; or vectors, shape (M, F). One text or image alone
                counts as a list of one.
            top_k: how many classes to name beside the best one; none by default.

        Returns:
            An answer for each input, a dict: `label`, the class; `id` where the taxonomy has ids; `path`, the names
            from level 1 down to the class; `score`, by which the classes are ranked; `probability`, of the class;
            `path_probabilities`, of the nodes on the path; and, where asked for, `top_k`: the best classes as such
            dicts, best first.

        Raises:
            DataError: for inputs of another kind, an empty text, or an image that cannot be read.
        """
        if top_k is not None and top_k < 1:
            raise ValueError(f"expected top_k of at least 1, got {top_k}")
        stored = self.pretrained.stored
        samples = model_samples(stored, read_inputs(inputs, stored.kind), self.how)
        scores = class_scores(self.how.fabric, stored.model, samples)
        answers = (
            answer for batch in torch.split(scores, ROWS_AT_ONCE) for answer in best_answers(stored, batch, top_k or 1)
        )
        return [best[0] if top_k is None else {**best[0], "top_k": best} for best in answers]


def load_pipeline(
    name_or_folder: str | Path,
    *,
    revision: str | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    workers: int = 0,
) -> Pipeline:
    """A pipeline from a model folder or a repository of the Hugging Face Hub.

    Args:
        name_or_folder: see `PretrainedModel.from_pretrained`.
        revision: of the repository.
        device: "auto", "cpu", "cuda" or "mps".
        batch_size: inputs at a time; as suits them by default.
        workers: processes that read images or texts; 0 for a thread of this one.

    Raises:
        ValueError: for another device, or one that is not here.
        HubError, ModelError: as `PretrainedModel.from_pretrained`.
    """
    fabric = launched(device)
    pretrained = PretrainedModel.from_pretrained(name_or_folder, revision=revision)
    return Pipeline(pretrained, Reading(fabric, batch_size, workers))


def best_answers(stored: StoredModel, scores: Tensor, count: int) -> Iterator[list[Answer]]:
    """The best classes of each sample under the model's rule, best first; equal ones in the order of the classes.

    Args:
        stored: the model.
        scores: of the classes, as the method gives them, shape (B, C).
        count: how many classes; all where there are fewer.
    """
    taxonomy, ranked = stored.model.taxonomy, decided_scores(scores, stored)  # (B, C)
    probabilities = node_probabilities(class_probabilities(scores, stored.temperature), taxonomy)  # (B, N)
    for row, classes in enumerate(best_classes(ranked, count).tolist()):
        yield [_answer(taxonomy, label, ranked[row], probabilities[row]) for label in classes]


def _answer(taxonomy: Taxonomy, label: int, scores: Tensor, probabilities: Tensor) -> Answer:
    """A class of one sample, from the scores of all classes (C,) and the probabilities of all nodes (N,)."""
    path = list(taxonomy.path(int(taxonomy.leaves[label])))
    along = probabilities[path].clamp(max=1).tolist()  # sums can exceed 1 by rounding
    return {
        "label": taxonomy.class_names[label],
        **({"id": taxonomy.ids[path[-1]]} if taxonomy.ids else {}),
        "path": [taxonomy.names[node] for node in path],
        "score": float(scores[label]),
        "probability": along[-1],
        "path_probabilities": along,
    }


def read_inputs(inputs: Any, kind: Kind) -> Inputs:
    """What somebody passed to a pipeline as inputs of its kind.

    Raises:
        DataError: naming the first input that is of another kind, or faulty.
    """
    if kind == "vectors":
        try:
            vectors = np.asarray(inputs, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise DataError(f"inputs: expected vectors, shape (samples, features) ({error})") from error
        check_inputs(vectors, source="inputs")
        return vectors
    items = [inputs] if _is_single(inputs) else list(inputs)
    expected = (str,) if kind == "texts" else (str, PathLike, pillow().Image)
    for row, item in enumerate(items, 1):
        if not isinstance(item, expected):
            wanted = "a text" if kind == "texts" else "a path or an image of Pillow"
            raise DataError(f"inputs: row {row}: expected {wanted}, got {type(item).__name__}")
    found: Inputs = tuple(items) if kind == "texts" else GivenImages(items)
    check_inputs(found, source="inputs")
    return found


def _is_single(inputs: Any) -> bool:
    return isinstance(inputs, str | PathLike) or not hasattr(inputs, "__iter__")


class GivenImages(Images):
    """Images as a caller has them: paths of files, or opened by Pillow.

    Args:
        images: M of them.
    """

    def __init__(self, images: "Sequence[str | PathLike[str] | Image]") -> None:
        self._images = tuple(images)

    def __len__(self) -> int:
        return len(self._images)

    def name(self, row: int) -> str:
        """The path of a file, or which of the images it is."""
        image = self._images[row]
        return fspath(image) if isinstance(image, str | PathLike) else f"image {row + 1}"

    def content(self, row: int) -> bytes:
        """The bytes of the file, or the pixels."""
        image = self._images[row]
        return file_content(fspath(image)) if isinstance(image, str | PathLike) else image.tobytes()

    def open(self, row: int) -> "Image":
        """The image, upright and RGB."""
        image = self._images[row]
        return super().open(row) if isinstance(image, str | PathLike) else upright_rgb(image, self.name(row))

    def take(self, rows: Rows) -> Images:
        """The images at these rows."""
        return self._taken(GivenImages([self._images[row] for row in rows]), rows)
