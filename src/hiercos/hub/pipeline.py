"""A trained model as one call: texts, images or vectors in, names of classes and their ancestors out."""

from pathlib import Path
from typing import Any

from hiercos.data import as_inputs
from hiercos.engine import ReadConfig, launched, model_samples, posteriors
from hiercos.hub.pretrained import PretrainedModel
from hiercos.options import check_count
from hiercos.predictions import Answer, check_top_k, named_answers
from hiercos.records import line_name


class Pipeline:
    """A model that is asked by calling it.

    Args:
        pretrained: the model.
        config: device, batch size and workers to read inputs with.
    """

    def __init__(self, pretrained: PretrainedModel, config: ReadConfig) -> None:
        self.pretrained, self.config = pretrained, config

    def __repr__(self) -> str:
        stored = self.pretrained.stored
        line = line_name(stored.model.method, stored.rule.name)
        return f"Pipeline({line}, {stored.kind}, {stored.model.taxonomy!r}, {self.config.fabric.device})"

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
        check_top_k(top_k)
        stored = self.pretrained.stored
        samples = model_samples(stored, as_inputs(inputs, stored.kind), self.config)
        return [
            answer
            for posterior in posteriors(stored, samples, self.config)
            for answer in named_answers(posterior, stored.rule, top_k=top_k)
        ]


def load_pipeline(
    model: str | Path | PretrainedModel,
    *,
    revision: str | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    workers: int = 0,
) -> Pipeline:
    """A pipeline from a model folder, a repository of the Hugging Face Hub, or a model that is loaded.

    Args:
        model: the folder or the repository (see `PretrainedModel.from_pretrained`), or the `PretrainedModel`.
        revision: of the repository.
        device: "auto", "cpu", "cuda" or "mps".
        batch_size: inputs at a time; as suits them by default.
        workers: processes that read images or texts; 0 for a thread of this one.

    Raises:
        TypeError: for anything but a folder, a name or a `PretrainedModel`.
        ValueError: for another device or one that is not here, a batch size below 1, workers below 0, or the revision
            of a model that is loaded.
        HubError, ModelError: as `PretrainedModel.from_pretrained`.
    """
    if not isinstance(model, str | Path | PretrainedModel):
        raise TypeError(f"expected a folder, the name of a repository or a PretrainedModel, got {type(model).__name__}")
    if batch_size is not None:
        check_count("batch_size", batch_size)
    check_count("workers", workers, 0)
    fabric = launched(device)
    if not isinstance(model, PretrainedModel):
        model = PretrainedModel.from_pretrained(model, revision=revision)
    elif revision is not None:
        raise ValueError(f"expected no revision of a model that is loaded, got {revision!r}")
    return Pipeline(model, ReadConfig(fabric, batch_size, workers))
