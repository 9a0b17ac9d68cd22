"""Predictions for labelled samples, of a model or of a file of probabilities, and the rows of their metrics."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hiercos.cli.display.metric_tables import metric_rows, read_predictions
from hiercos.cli.display.output import Row
from hiercos.cli.model_loading import held_out_samples
from hiercos.cli.options.answers import AnswerOptions, BoundRequest
from hiercos.cli.options.common import LoadOptions
from hiercos.cli.options.groups import ColumnOptions, OptionError
from hiercos.metrics import AVERAGE_PRECISION
from hiercos.storage import Folder

if TYPE_CHECKING:
    from hiercos.decisions import Posterior
    from hiercos.encoders import DeviceContext, LabelledSamples, ReadConfig
    from hiercos.evaluation import LabelledImages, LabelledPosterior, SampleMetrics
    from hiercos.model import StoredModel
    from hiercos.taxonomy import IntArray, Taxonomy

OF_LEVELS = ("level", "confidence")  # breakdowns with rows about levels


def check_levels(taxonomy: "Taxonomy", breakdown: str | None) -> None:
    """Raise a `TaxonomyError` for rows about levels if the taxonomy is a graph."""
    from hiercos.taxonomy import check_tree

    if breakdown in OF_LEVELS:
        check_tree(taxonomy, f"--by {breakdown}")


def breakdown_rows(samples: "SampleMetrics", tree: "Taxonomy", breakdown: str | None, seed: int) -> "Sequence[Row]":
    """Rows of the metrics of samples: by class or by level, or one for each metric."""
    from hiercos.evaluation import class_rows, node_rows

    if breakdown == "class":
        return class_rows(samples, tree)
    return node_rows(samples, tree) if breakdown == "level" else metric_rows(samples, seed=seed)


class LabelledPredictions(ABC):
    """Predictions for labelled samples, and the rule that answers."""

    bound: BoundRequest

    def rows(self, breakdown: str | None, seed: int) -> "Sequence[Row]":
        """Rows of its metrics: of the ranking of the classes, or of its answers under a rule of any level."""
        from hiercos.decisions import NodeRule
        from hiercos.evaluation import node_answer_rows, reliability_rows

        check_levels(self.taxonomy, breakdown)
        if breakdown == "confidence":
            return reliability_rows(self.labelled_posterior())
        if isinstance(self.bound.rule, NodeRule):
            if breakdown is not None:
                raise OptionError(
                    f"--by {breakdown}: expected no --confidence, target or --rule that answers at any level with it"
                )
            return node_answer_rows(self.labelled_posterior(), self.bound.rule, seed=seed)
        rows = breakdown_rows(self.metrics(), self.taxonomy, breakdown, seed)
        return rows if breakdown else [*rows, *self.further_rows()]

    def further_rows(self) -> "list[Row]":
        """Rows of metrics that are no means over the samples; none by default."""
        return []

    @property
    @abstractmethod
    def taxonomy(self) -> "Taxonomy":
        """The label tree."""

    @abstractmethod
    def labelled_posterior(self) -> "LabelledPosterior":
        """Probabilities of the samples."""

    @abstractmethod
    def metrics(self) -> "SampleMetrics":
        """The metrics of each sample under a rule that orders the classes."""


@dataclass(frozen=True)
class ModelPredictions(LabelledPredictions):
    """A model with the samples to test it on, and the rule that answers."""

    context: "DeviceContext"
    stored: "StoredModel"
    data: "LabelledSamples"
    bound: BoundRequest

    @property
    def taxonomy(self) -> "Taxonomy":
        """The label tree."""
        return self.stored.model.taxonomy

    def further_rows(self) -> "list[Row]":
        """With several labels of a sample, the average precision of the nodes over all samples with labels."""
        from hiercos.model import node_average_precision

        if self.data.label_sets is None:
            return []
        count = int((self.data.label_sets >= 0).any(dim=1).sum())
        value = node_average_precision(self.context, self.stored.model, self.data)
        unknown = float("nan")  # no interval
        return [{"metric": AVERAGE_PRECISION, "value": value, "low": unknown, "high": unknown, "samples": count}]

    def labelled_posterior(self) -> "LabelledPosterior":
        """Probabilities of the samples."""
        from hiercos.evaluation import labelled_posterior

        return labelled_posterior(self.context, self.stored, self.data, self.bound.request)

    def metrics(self) -> "SampleMetrics":
        """The metrics of each sample under the rule."""
        from hiercos.evaluation import model_metrics

        return model_metrics(self.context, self.stored, self.data, self.bound.request)


@dataclass(frozen=True)
class FileProbabilities(LabelledPredictions):
    """Probabilities of labelled samples in a file, and the rule that answers."""

    posterior: "Posterior"
    labels: "IntArray"
    bound: BoundRequest

    @property
    def taxonomy(self) -> "Taxonomy":
        """The label tree."""
        return self.posterior.taxonomy

    def labelled_posterior(self) -> "LabelledPosterior":
        """Probabilities of the samples."""
        from hiercos.evaluation import LabelledPosterior
        from hiercos.taxonomy import nodes_of_labels

        return LabelledPosterior(self.posterior, nodes_of_labels(self.labels, self.taxonomy))

    def metrics(self) -> "SampleMetrics":
        """The metrics of each sample under the rule."""
        from hiercos.evaluation import posterior_metrics

        return posterior_metrics(self.posterior, self.labels, self.bound.rule)


def open_probabilities(
    path: Path, taxonomy: "Taxonomy", labels: "LabelledImages | None", answers: AnswerOptions
) -> FileProbabilities:
    """The probabilities in a file of predictions, over the classes that the options allow."""
    from hiercos.decisions import rule

    bound = BoundRequest.of(answers.request(taxonomy), rule("none"), None)
    found = read_predictions(path, taxonomy, labels)
    posterior = found.posterior(taxonomy, str(path))
    restricted = bound.request.restricted(posterior, row_name=lambda row: f"{path}: {found.row_name(row)}")
    _note_labels_outside(bound, found.labels, taxonomy)
    return FileProbabilities(restricted, found.labels, bound)


def _note_labels_outside(bound: BoundRequest, labels: "IntArray", taxonomy: "Taxonomy") -> None:
    """Say how many samples are labelled outside the classes that may be answered."""
    from hiercos.decisions import Posterior
    from hiercos.taxonomy import nodes_of_labels

    if not bound.request.restricts:
        return
    shares = Posterior([bound.request.allowed(taxonomy)], taxonomy).nodes[0]  # allowed classes below each node
    nodes = nodes_of_labels(labels, taxonomy)
    outside = int(((nodes >= 0) & (shares[nodes] == 0)).sum())
    if outside:
        typer.echo(
            f"{outside} of {len(labels)} samples are labelled outside the allowed classes: no answer to them is right.",
            err=True,
        )


def open_model(  # noqa: PLR0917  # all are needed, and it is called once
    files: Folder,
    loading: LoadOptions,
    data: str,
    columns: ColumnOptions,
    answers: AnswerOptions,
    read_config: Callable[..., "ReadConfig"],
) -> ModelPredictions:
    """A model with the samples of the data that it was not trained on."""
    import torch

    from hiercos.encoders import LabelledInputs
    from hiercos.model import model_samples

    stored = loading.load(files)
    samples = held_out_samples(files, stored, data, columns)
    config = read_config(kind=stored.kind, doing="evaluating")
    sets = None if samples.label_sets is None else torch.tensor(samples.label_sets)
    tested = LabelledInputs(model_samples(stored, samples.inputs, config), torch.tensor(samples.labels), sets)
    bound = BoundRequest.of(answers.request(stored.model.taxonomy), stored.rule, stored.calibration)
    _note_labels_outside(bound, samples.labels, stored.model.taxonomy)
    return ModelPredictions(config.context, replace(stored, rule=bound.rule), tested, bound)
