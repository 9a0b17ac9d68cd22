"""Predictions for labelled samples, of a model or of a file, and the rows of their metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hiercos.cli.display.metric_tables import metric_rows
from hiercos.cli.display.output import Row
from hiercos.cli.model_loading import held_out_samples
from hiercos.cli.options.answers import AnswerOptions, BoundRequest
from hiercos.cli.options.common import LoadOptions
from hiercos.cli.options.groups import ColumnOptions, OptionError, say
from hiercos.storage import Folder

if TYPE_CHECKING:
    from hiercos.data import Dataset
    from hiercos.decisions import AnswerRequest
    from hiercos.encoders import DeviceContext, LabelledSamples, ReadConfig
    from hiercos.evaluation import LabelledImages, LabelledPosterior, SampleMetrics, ScoreSet
    from hiercos.model import Classifier
    from hiercos.taxonomy import AnyArray, IntArray, Taxonomy

OF_LEVELS = ("level", "confidence")  # breakdowns with rows about levels
ERROR_COLUMNS = ("file", "row", "input", "truth", "answer", "distance", "confidence")  # of a wrong answer


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


@dataclass(frozen=True)
class LabelledPredictions:
    """Predictions for labelled samples, and the rule that answers; what they need is computed when it is asked for."""

    taxonomy: "Taxonomy"  # taxonomy of the labels
    bound: BoundRequest  # request with its rule
    posterior: "Callable[[], LabelledPosterior]"  # function that returns the probabilities of the samples
    # function that returns the metrics of each sample under a rule that orders the classes
    metrics: "Callable[[], SampleMetrics]"
    # function that returns the file of a sample, its row there, and its text or path
    origin: "Callable[[int], tuple[str, int | str, str]]"
    # function that returns rows of metrics that are no means over the samples
    further: "Callable[[], list[Row]]" = list

    def errors(self) -> "list[Row]":
        """Rows of the wrong answers to samples labelled with a class, the farthest and surest ones first."""
        from hiercos.evaluation import VariantAnswers, worst_rows
        from hiercos.taxonomy import label_indices

        tested, path = self.posterior(), self.taxonomy.path_text
        labels = label_indices(tested.nodes, self.taxonomy)
        rows = (labels < self.taxonomy.num_classes).nonzero()[0]
        found = VariantAnswers("", "", self.bound.rule, tested.posterior.rows(rows), labels[rows], rows)
        return [
            {
                **dict(zip(ERROR_COLUMNS, self.origin(int(rows[place])), strict=False)),
                "truth": path(int(tested.nodes[rows[place]])),
                "answer": path(node) if (node := int(found.nodes[place])) >= 0 else "root",
                "distance": int(found.distances[place]),
                "confidence": float(found.probabilities[place]),
            }
            for place in worst_rows(found).tolist()
        ]

    def rows(self, breakdown: str | None, seed: int) -> "Sequence[Row]":
        """Rows of its metrics: of the ranking of the classes, or of its answers under a rule of any level."""
        from hiercos.decisions import NodeRule, Several
        from hiercos.evaluation import node_answer_rows, reliability_rows

        check_levels(self.taxonomy, breakdown)
        if breakdown == "confidence":
            return reliability_rows(self.posterior())
        if isinstance(self.bound.rule, NodeRule) and not isinstance(self.bound.rule, Several):
            if breakdown is not None:
                raise OptionError(
                    f"--by {breakdown}: expected no --confidence, target or --rule that answers at any level with it"
                )
            return node_answer_rows(self.posterior(), self.bound.rule, seed=seed)
        rows = breakdown_rows(self.metrics(), self.taxonomy, breakdown, seed)
        return rows if breakdown else [*rows, *self.further()]


def read_predictions(scores: Path, taxonomy: "Taxonomy", labels: "LabelledImages | None" = None) -> "ScoreSet":
    """The predictions in a file, see `read_scores`; its notes go to stderr."""
    from hiercos.evaluation import read_scores

    found = read_scores(scores, taxonomy, labels)
    say(*found.notes)
    return found


def file_predictions(
    path: Path, taxonomy: "Taxonomy", labels: "LabelledImages | None", answers: AnswerOptions
) -> LabelledPredictions:
    """The probabilities in a file of predictions, over the classes that the options allow."""
    from hiercos.decisions import rule
    from hiercos.evaluation import LabelledPosterior, posterior_metrics
    from hiercos.taxonomy import nodes_of_labels

    bound = BoundRequest.of(answers.request(taxonomy), rule("none"), None)
    found = read_predictions(path, taxonomy, labels)
    posterior = found.posterior(taxonomy, str(path))
    restricted = bound.request.restricted(posterior, row_name=lambda row: f"{path}: {found.row_name(row)}")
    _note_labels_outside(bound, found.labels, taxonomy)
    return LabelledPredictions(
        taxonomy,
        bound,
        lambda: LabelledPosterior(restricted, nodes_of_labels(found.labels, taxonomy)),
        partial(posterior_metrics, restricted, found.labels, bound.rule),
        origin=lambda row: (str(path), found.row_name(row).removeprefix("row "), ""),
    )


def model_predictions(  # noqa: PLR0917  # all are needed, and it is called once
    files: Folder,
    loading: LoadOptions,
    data: str,
    columns: ColumnOptions,
    answers: AnswerOptions,
    read_config: "Callable[..., ReadConfig]",
) -> LabelledPredictions:
    """A model with the samples of the data that it was not trained on."""
    import torch

    from hiercos.encoders import LabelledInputs
    from hiercos.evaluation import labelled_posterior, model_metrics

    stored = loading.load(files)
    samples = held_out_samples(files, stored, data, columns)
    config = read_config(kind=stored.kind, doing="evaluating")
    sets = None if samples.label_sets is None else torch.tensor(samples.label_sets)
    tested = LabelledInputs(stored.samples(samples.inputs, config), torch.tensor(samples.labels), sets)
    taxonomy = stored.model.taxonomy
    bound = BoundRequest.of(answers.request(taxonomy), stored.rule, stored.calibration)
    _note_labels_outside(bound, samples.labels, taxonomy)
    ruled = replace(stored, rule=bound.rule)
    measured = (config.context, ruled, tested)
    return LabelledPredictions(
        taxonomy,
        bound,
        partial(labelled_posterior, *measured, bound.request),
        partial(model_metrics, *measured, bound.request),
        partial(_origin, samples),
        partial(_set_rows, *measured, bound.request),
    )


def _origin(samples: "Dataset", row: int) -> tuple[str, int, str]:
    """The file of a sample, its row there, and its text or path."""
    number = row + 1 if samples.numbers is None else int(samples.numbers[row])
    return samples.source, number, "".join(samples.inputs.shown(row).values())


def changed_answers(  # noqa: PLR0917  # as `model_predictions`
    files: Folder,
    against: Folder,
    loading: LoadOptions,
    data: str,
    columns: ColumnOptions,
    read_config: "Callable[..., ReadConfig]",
) -> "list[Row]":
    """Rows of what changes if a model takes the place of another: all samples of a class, then each branch of these."""
    import numpy as np

    from hiercos.taxonomy import ancestor_matrix

    stored = loading.load(files)
    samples = held_out_samples(files, stored, data, columns)
    taxonomy = stored.model.taxonomy
    known = samples.take(np.flatnonzero(samples.labels < taxonomy.num_classes))
    truth = np.array([taxonomy.path_text(node) for node in known.nodes.tolist()])
    tops = sorted(np.flatnonzero(taxonomy.ancestor_counts == 1).tolist(), key=lambda node: taxonomy.names[node])
    below = ancestor_matrix(taxonomy)[known.nodes][:, tops].tocsc()  # in a graph a row may be in several branches
    after, before = (
        _answered_paths(each, known, read_config(kind=each.kind, doing="evaluating"))
        for each in (stored, loading.load(against))
    )
    branches = [(taxonomy.names[top], below[:, [place]].nonzero()[0]) for place, top in enumerate(tops)]
    rows: list[Row] = []
    for branch, own in [("all", np.arange(len(truth))), *((name, own) for name, own in branches if len(own))]:
        right, was_right = after[own] == truth[own], before[own] == truth[own]
        gains = {"gained": int((right & ~was_right).sum()), "lost": int((was_right & ~right).sum())}
        shares = {"top1_before": float(was_right.mean()), "top1": float(right.mean())}
        changed = int((after[own] != before[own]).sum())
        rows.append({"branch": branch, "samples": len(own), "changed": changed, **gains, **shares})
    return rows


def _answered_paths(stored: "Classifier", samples: "Dataset", config: "ReadConfig") -> "AnyArray":
    """Path of the node that a model answers with under its rule, for each sample; "root" for the root."""
    import numpy as np
    import torch

    from hiercos.encoders import LabelledInputs

    tested = LabelledInputs(stored.samples(samples.inputs, config), torch.tensor(samples.labels))
    nodes = stored.rule(stored.calibrated(stored.sample_scores(config.context, tested))).nodes
    path = stored.model.taxonomy.path_text
    return np.array([path(node) if node >= 0 else "root" for node in nodes.tolist()])


def _set_rows(
    context: "DeviceContext", stored: "Classifier", data: "LabelledSamples", request: "AnswerRequest"
) -> "list[Row]":
    """With several labels of a sample, a row of each metric of sets over all samples with labels."""
    from hiercos.model import sample_scores, set_metrics

    if data.label_sets is None:
        return []
    count = int((data.label_sets >= 0).any(dim=1).sum())
    posterior = request.restricted(stored.calibrated(sample_scores(context, stored.model, data, marginals=True)))
    found, unknown = set_metrics(stored.rule, posterior, data.label_sets), float("nan")  # no interval
    return [
        {"metric": name, "value": value, "low": unknown, "high": unknown, "samples": count}
        for name, value in found.items()
    ]


def _note_labels_outside(bound: BoundRequest, labels: "IntArray", taxonomy: "Taxonomy") -> None:
    """Say how many samples are labelled outside the classes that may be answered."""
    from hiercos.decisions import Posterior
    from hiercos.taxonomy import nodes_of_labels

    if not bound.request.restricts:
        return
    shares = Posterior([bound.request.allowed(taxonomy)], taxonomy).nodes[0]  # allowed classes below each node
    nodes = nodes_of_labels(labels, taxonomy)
    if outside := int(((nodes >= 0) & (shares[nodes] == 0)).sum()):
        count = f"{outside} of {len(labels)} samples"
        say(f"{count} are labelled outside the allowed classes: no answer to them is right.")
