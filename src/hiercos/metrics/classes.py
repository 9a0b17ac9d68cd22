"""torchmetrics classes: one for each metric of the table, made from its row, and those that keep more than means."""

import math
from collections.abc import Sequence
from functools import cache
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any, ClassVar, cast

import torch
from torch import Tensor
from torchmetrics import Metric, MetricCollection

from hiercos.metrics.functional.levels import ANSWER_METRICS, answer_values
from hiercos.metrics.functional.probability import binned_error, calibration_bins
from hiercos.metrics.functional.ranked import class_sums, mean_of_class_means
from hiercos.metrics.input_checks import check_labels
from hiercos.metrics.suite import SuiteSums, metric_function, suite_names, suite_values, taken
from hiercos.metrics.table import SUITE, MetricSpec
from hiercos.taxonomy import Taxonomy, check_is_taxonomy


class TreeMetric(Metric):
    """Base class of all metrics over a taxonomy.

    A MetricCollection merges metrics whose states are equal after the first batch. Sums and counts of different
    metrics are equal after a batch without mistakes, so every metric has a nan state, which is never equal.

    Args:
        taxonomy: the tree over the classes.
        options: keyword options of torchmetrics.Metric, such as `process_group`.
    """

    is_differentiable = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound: float | None = 1.0  # None for no bound
    ignored: Tensor  # number of samples labelled with an inner node, which metrics of a ranking leave out

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(**options)
        check_is_taxonomy(taxonomy)
        self.taxonomy = taxonomy
        self.add_state("unequal", torch.tensor(torch.nan), dist_reduce_fx="sum")
        self.add_state("ignored", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def of_classes(self, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (B, C) and labels (B,) of the samples labelled with a class; the others are counted as ignored."""
        check_labels(labels, len(scores), self.taxonomy, inner=True)
        is_class = labels < self.taxonomy.num_classes
        self.ignored += (~is_class).sum()
        return (scores, labels) if bool(is_class.all()) else (scores[is_class], labels[is_class])

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot the metric's current value, or `val`, as torchmetrics does; needs matplotlib."""
        return self._plot(val, ax)


class RowMetric(TreeMetric):
    """Mean of a metric function over all batches; `metric_class` makes a subclass for each metric.

    Keeps the sum of the values and the number of samples that count, or both for every class if the mean is that of the
    classes, so the value does not depend on batches or processes. The mean of none is nan.
    """

    spec: ClassVar[MetricSpec]
    options: ClassVar[Signature]  # arguments of the function beside its input, the labels and the taxonomy
    total: Tensor
    count: Tensor

    def __init__(self, taxonomy: Taxonomy, *arguments: Any, **options: Any) -> None:
        own = {name: options.pop(name) for name in self.options.parameters if name in options}
        chosen = self.options.bind(*arguments, **own)
        chosen.apply_defaults()
        super().__init__(taxonomy, **options)
        for name, value in chosen.arguments.items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value, persistent=False)
            else:
                setattr(self, name, value)
        by_class, levels = self.spec.average == "classes", (taxonomy.height,) if self.spec.per_level else ()
        total = torch.zeros((taxonomy.num_classes, 1) if by_class else levels, dtype=torch.float64)
        self.add_state("total", total, dist_reduce_fx="sum")
        self.add_state("count", total.clone() if by_class else total.long(), dist_reduce_fx="sum")

    def add(self, inputs: Tensor, labels: Tensor) -> None:
        """Add a batch."""
        function = metric_function(self.spec)
        if not self.spec.inner_labels:
            inputs, labels = self.of_classes(inputs, labels)
        given = taken(function, labels=labels) | {name: getattr(self, name) for name in self.options.parameters}
        per_sample = getattr(function, "per_sample", function)
        values = per_sample(inputs, taxonomy=self.taxonomy, **given).double()
        if self.spec.average == "classes":
            total, count = class_sums(values[:, None], labels, self.taxonomy.num_classes)
        else:
            total, count = values.nansum(dim=0), values.isnan().logical_not().sum(dim=0)
        self.total += total
        self.count += count

    def compute(self) -> Tensor:
        """Mean over all samples that count, a float64 scalar, or shape (H,) for one of each level."""
        if self.spec.average == "classes":
            return mean_of_class_means(self.total, self.count)[0]
        return self.total / self.count


def _update_with_scores(metric: RowMetric, scores: Tensor, labels: Tensor) -> None:
    """Add a batch: class scores (B, C) and labels (B,)."""
    metric.add(scores, labels)


def _update_with_answers(metric: RowMetric, answers: Tensor, labels: Tensor) -> None:
    """Add a batch: level predictions (B, H) or node scores (B, N), and labels (B,)."""
    metric.add(answers, labels)


def _update_with_node_scores(metric: RowMetric, node_scores: Tensor, labels: Tensor) -> None:
    """Add a batch: node scores (B, N) and labels (B,)."""
    metric.add(node_scores, labels)


def _update_with_log_probabilities(metric: RowMetric, log_probabilities: Tensor, labels: Tensor) -> None:
    """Add a batch: natural logarithms of the class probabilities (B, C) and labels (B,)."""
    metric.add(log_probabilities, labels)


UPDATES = {  # by source; a MetricCollection passes each metric its arguments by their names
    "ranking": _update_with_scores,
    "list": _update_with_scores,
    "levels": _update_with_answers,
    "nodes": _update_with_node_scores,
    "probabilities": _update_with_log_probabilities,
}


@cache
def metric_class(spec: MetricSpec) -> type[RowMetric]:
    """torchmetrics class of a row of the metric table.

    Its arguments are the taxonomy, the function's own options and those of torchmetrics.Metric. An instance is pickled
    by the name of its class in `hiercos.metrics` or, for a row with a callable, in the function's module.

    Example:
        >>> from hiercos.metrics.table import metric_spec
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> metric = metric_class(metric_spec("hops"))(t, k=2)
        >>> metric.update(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 0]))
        >>> metric
        HOPS()
        >>> metric.compute()
        tensor(0.8333, dtype=torch.float64)
    """
    function = metric_function(spec)
    others = [*signature(function).parameters.values()][1:]
    options = [each for each in others if each.name not in ("labels", "taxonomy")]
    taxonomy = Parameter("taxonomy", Parameter.POSITIONAL_OR_KEYWORD, annotation=Taxonomy)
    parts = {
        "__module__": function.__module__ if callable(spec.function) else "hiercos.metrics",
        "__doc__": _class_doc(spec, function),
        "__signature__": Signature([taxonomy, *options, Parameter("kwargs", Parameter.VAR_KEYWORD)]),
        "spec": spec,
        "options": Signature(options),
        "update": UPDATES[spec.source],
        "higher_is_better": spec.higher_is_better,
        "plot_upper_bound": spec.highest if spec.highest != math.inf else None,
    }
    return cast(type[RowMetric], type(spec.class_name, (RowMetric,), parts))


def _class_doc(spec: MetricSpec, function: Any) -> str:
    better = "higher" if spec.higher_is_better else "lower"
    left_out = (
        "" if spec.inner_labels else "Samples labelled with an inner node are left out, and counted in `ignored`.\n"
    )
    return f"""{spec.meaning}

Mean over all batches, {better} is better; `update` adds a batch, `compute` returns it.
{left_out}Arguments are the taxonomy, the options of the function below, and those of torchmetrics.Metric.

`{function.__name__}({", ".join(signature(function).parameters)})`:

{cleandoc(function.__doc__ or "")}
"""


class CalibrationError(TreeMetric):
    """Expected calibration error at each level, shape (H,), of node probabilities (B, N).

    Args:
        taxonomy: the tree.
        bins: number of bins of equal width between 0 and 1; 15 by default.
    """

    higher_is_better = False
    samples: Tensor
    confidences: Tensor
    hits: Tensor

    def __init__(self, taxonomy: Taxonomy, bins: int = 15, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.bins = bins
        for name in ("samples", "confidences", "hits"):
            zeros = torch.zeros(taxonomy.height, bins, dtype=torch.float64)
            self.add_state(name, zeros, dist_reduce_fx="sum")

    def update(self, node_probabilities: Tensor, labels: Tensor) -> None:
        """Add a batch; see `functional.calibration_error`."""
        samples, confidences, hits = calibration_bins(node_probabilities, labels, self.taxonomy, self.bins)
        self.samples += samples
        self.confidences += confidences
        self.hits += hits

    def compute(self) -> Tensor:
        """Errors of levels 1…H, nan at a level without samples."""
        return binned_error(self.samples, self.confidences, self.hits)


class AnswerMetrics(TreeMetric):
    """Means of `answer_values` over all batches; `compute` returns a dict from name to scalar.

    Example:
        >>> metric = AnswerMetrics(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> metric.update(torch.tensor([0, -1]), torch.tensor([2, 3]))
        >>> metric.compute()["precision"].item(), metric.compute()["answered"].item()
        (1.0, 0.5)
    """

    plot_upper_bound = None
    totals: Tensor
    counts: Tensor

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        shape = len(ANSWER_METRICS)
        self.add_state("totals", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("counts", torch.zeros(shape, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, answers: Tensor, labels: Tensor) -> None:
        """Add answers and label nodes, shape (B,) each; see `answer_values`."""
        values = answer_values(answers, labels, self.taxonomy)
        self.totals += values.nansum(dim=0)
        self.counts += values.isnan().logical_not().sum(dim=0)

    def compute(self) -> dict[str, Tensor]:
        """Mean of every metric, float64 scalars; nan where no sample counts."""
        return dict(zip(ANSWER_METRICS, self.totals / self.counts, strict=True))


class MetricSuite(TreeMetric):
    """Averages of `suite_values` over all batches, as one metric.

    `compute` returns a dict from name to scalar; inside a MetricCollection the names become its keys.

    Args:
        taxonomy: the tree over the classes.
        specs: rows of the metric table; the default suite by default.

    Example:
        >>> import torch
        >>> suite = MetricSuite(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> suite.update(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 2]))
        >>> suite.compute()["top1"].item(), suite.compute()["mistake_severity"].item()
        (0.5, 2.0)
    """

    plot_upper_bound = None
    totals: Tensor
    counts: Tensor
    class_totals: Tensor
    class_counts: Tensor

    def __init__(self, taxonomy: Taxonomy, specs: Sequence[MetricSpec] = SUITE, **options: Any) -> None:
        super().__init__(taxonomy, **options)
        self.specs, self.names = tuple(specs), suite_names(taxonomy, specs)
        for name, zeros in SuiteSums.empty(taxonomy, specs)._asdict().items():
            self.add_state(name, zeros, dist_reduce_fx="sum")

    def update(
        self,
        scores: Tensor,
        labels: Tensor,
        node_scores: Tensor | None = None,
        log_probabilities: Tensor | None = None,
        listed: Tensor | None = None,
    ) -> None:
        """Add a batch; see `suite_values` for the arguments."""
        values = suite_values(
            scores, labels, self.taxonomy, node_scores, log_probabilities, listed=listed, specs=self.specs
        )
        self.ignored += (labels >= self.taxonomy.num_classes).sum()
        sums = SuiteSums.of(values, labels, self.taxonomy, self.specs)
        self.totals, self.counts, self.class_totals, self.class_counts = self._sums().plus(sums)

    def compute(self) -> dict[str, Tensor]:
        """Average of every value, float64 scalars; nan where no sample counts."""
        return self._sums().means(self.taxonomy, self.specs)

    def _sums(self) -> SuiteSums:
        return SuiteSums(self.totals, self.counts, self.class_totals, self.class_counts)


def default_suite(taxonomy: Taxonomy) -> MetricCollection:
    """The metrics of a results table (top-1, severity, AHD, HOPS, fpa, …), correct order, accuracy per level and MRR.

    A collection of one `MetricSuite`, so `update` takes its arguments by position or by name, and more metrics can
    be added to it.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> suite = default_suite(t)
        >>> suite.update(torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 0]))
        >>> result = suite.compute()
        >>> result["top1"].item(), round(result["hops"].item(), 2)
        (1.0, 0.85)
    """
    return MetricCollection(MetricSuite(taxonomy))
