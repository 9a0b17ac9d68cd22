"""Pipeline from texts, images or vectors to the names of classes and their ancestors."""

from pathlib import Path
from typing import Any

from hiercos.data import as_inputs
from hiercos.decisions import AnswerRequest
from hiercos.engine import ReadConfig, SingleDevice, model_samples, posteriors
from hiercos.hub.pretrained import PretrainedModel
from hiercos.options import check_count
from hiercos.predictions import Answer, check_top_k, named_answers
from hiercos.records import line_name


class Pipeline:
    """A callable that classifies inputs with a trained model.

    Args:
        pretrained: trained model.
        config: device, batch size and number of workers.
    """

    def __init__(self, pretrained: PretrainedModel, config: ReadConfig) -> None:
        self.pretrained, self.config = pretrained, config

    def __repr__(self) -> str:
        stored = self.pretrained.stored
        line = line_name(stored.model.method, stored.rule.name)
        return f"Pipeline({line}, {stored.kind}, {stored.model.taxonomy!r}, {self.config.context.device})"

    def __call__(self, inputs: Any, *, top_k: int | None = None, explain: bool = False, **request: Any) -> list[Answer]:
        """The answer to every input.

        Args:
            inputs: texts; or images, as paths or opened by Pillow; or vectors, shape (M, F). A single text or image
                counts as a list of one.
            top_k: number of classes to list in `top_k`; None (the default) for no list.
            explain: whether to add `explanation`; see `hiercos.predictions.explanations`.
            **request: arguments of `AnswerRequest`, such as `confidence=0.9` or `within=["fungi"]`.

        Returns:
            One dict per input: `label`, the class; `id`, if the taxonomy has ids; `path`, the names from level 1 down
            to the class; `score`, by which the classes are ranked; `probability` of the class; `path_probabilities`
            of the nodes on the path; and with `top_k`, the list `top_k` of such dicts, best class first. Under a rule
            that answers at any level, such as `back-off`, `label` may be an inner node, or None for the root, and
            there are also `level`, and `next` and `next_probability`, the likeliest node below.

        Raises:
            DataError: inputs of another kind, an empty text, or an image that cannot be read.
        """
        check_top_k(top_k)
        stored, wanted = self.pretrained.stored, AnswerRequest.of(request)
        rule = wanted.chosen_rule(stored.rule, stored.calibration)
        samples = model_samples(stored, as_inputs(inputs, stored.kind), self.config)
        return [
            answer
            for posterior in posteriors(stored, samples, self.config, energies=explain)
            for answer in named_answers(wanted.restricted(posterior), rule, top_k=top_k, explain=explain)
        ]


def load_pipeline(
    model: str | Path | PretrainedModel,
    *,
    revision: str | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    workers: int = 0,
) -> Pipeline:
    """Create a pipeline from a model folder, a repository of the Hugging Face Hub, or a loaded model.

    Args:
        model: folder or repository (see `PretrainedModel.from_pretrained`), or a `PretrainedModel`.
        revision: branch, tag or commit of the repository.
        device: "auto" (the default), "cpu", "cuda" or "mps".
        batch_size: number of inputs in a batch; None for a default by kind of input.
        workers: number of processes that read images or texts; 0 (the default) for a thread of this process.

    Raises:
        TypeError: a model that is not a folder, a name or a `PretrainedModel`.
        ValueError: an unknown or missing device, a batch size below 1, workers below 0, or a revision together with
            a loaded model.
        HubError, ModelError: see `PretrainedModel.from_pretrained`.
    """
    if not isinstance(model, str | Path | PretrainedModel):
        raise TypeError(f"expected a folder, the name of a repository or a PretrainedModel, got {type(model).__name__}")
    if batch_size is not None:
        check_count("batch_size", batch_size)
    check_count("workers", workers, 0)
    fabric = SingleDevice(device)
    if not isinstance(model, PretrainedModel):
        model = PretrainedModel.from_pretrained(model, revision=revision)
    elif revision is not None:
        raise ValueError(f"expected no revision with a loaded model, got {revision!r}")
    return Pipeline(model, ReadConfig(fabric, batch_size, workers))
