"""The table of metrics: name, function, direction, range, heading and meaning of each. Plain Python, open to all.

The default suite, results.csv, the scorers, every table and legend, the model card and the contract tests are built
from these rows, so a new metric is one function in `hiercos.metrics.functional` and one row here.
"""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

MetricSource = Literal["ranking", "list", "levels", "probabilities", "run"]
Average = Literal["samples", "classes"]


@dataclass(frozen=True)
class MetricSpec:
    """One row of the table: a metric, or a figure of the run itself such as its training time.

    Attributes:
        name: key in the suite, in records and in results.csv; names of per-level metrics end with the level.
        heading: column heading in tables.
        higher_is_better: direction of the metric.
        function: function of the values of the samples, as "module:name" within `hiercos.metrics.functional`, or a
            callable. Its arguments depend on `source`; it returns shape (B,), nan for a sample that does not count.
            Empty for a figure of the run.
        source: arguments of the function. "ranking": a `Ranking` and k. "list": the same, of the short list if a rule
            has one of its own. "levels": whether the prediction of each level is correct, shape (B, H), nan where the
            label lacks the level, and the level. "probabilities": natural logarithm of the probability of each
            sample's label, shape (B,). "run": no function.
        inner_labels: whether samples labelled with an inner node count; a ranking needs a class.
        k: number of classes that must be ranked; all by default.
        highest: upper end of the range, whose lower end is 0; None for a tree distance, whose upper end
            is the largest number of ancestors of a class: the height of a tree, and more in a graph.
        meaning: sentence for legends; a sentence that several metrics share is shown once.
        scale: factor of the values in tables, 100 for percent.
        digits: decimal places in tables.
        average: "samples" for the mean over the samples that count; "classes" for the mean of the class means, over
            the classes with such samples.
        per_level: whether the row is expanded into one metric for each level; see `at_level`.
        level: level of a metric of one level; None for other metrics.
        in_suite: whether the metric is part of the default suite.
        in_results: whether the metric is a column of results.csv and of the tables built from the same records.
        shown_after: name of the metric that it follows in tables; None for its position in this table.
        page: name of its page in docs/metrics.
    """

    name: str
    heading: str
    higher_is_better: bool
    function: str | Callable[..., Any] = ""
    source: MetricSource = "ranking"
    inner_labels: bool = False
    k: int | None = None
    highest: float | None = 1.0
    meaning: str = ""
    scale: float = 1.0
    digits: int = 3
    average: Average = "samples"
    per_level: bool = False
    level: int | None = None
    in_suite: bool = True
    in_results: bool = False
    shown_after: str | None = None
    page: str = ""

    @property
    def directed_heading(self) -> str:
        """Heading with an arrow in the better direction."""
        return f"{self.heading} {'↑' if self.higher_is_better else '↓'}"

    def at_level(self, level: int) -> "MetricSpec":
        """The metric of one level, from a per-level row."""
        heading = self.heading.replace("level", f"level {level}")
        return replace(self, name=f"{self.name}_{level}", heading=heading, per_level=False, level=level)

    def depth(self, num_classes: int) -> int:
        """Number of classes that must be ranked, out of `num_classes`."""
        return num_classes if self.k is None else min(self.k, num_classes)

    def text(self, value: float, *, sign: str = "") -> str:
        """A value as text for tables; a dash for nan.

        Example:
            >>> metric_spec("top1").text(0.8642), metric_spec("hops").text(0.5, sign="+")
            ('86.42', '+0.500')
        """
        return "–" if math.isnan(value) else f"{value * self.scale:{sign}.{self.digits}f}"


AVERAGE_PRECISION = "average_precision"  # measured where samples have several labels

_TOP_K = "Top-k: share of samples whose true class is among the first k."
_DISTANCE = "AHD@k, average hierarchical distance: mean tree distance of the first k classes, the true one included."
_HOPS = "HOPS: closeness of the order of the classes to the one the tree prefers, from 0 to 1; HOPS@k: of its first k."
_ORDER = "Correct order @k: share of samples whose first k classes are in an order the tree prefers."
_OVERLAP = "Hierarchical precision, recall and F1: overlap of the paths of the answer and the true class."

METRICS: tuple[MetricSpec, ...] = (
    MetricSpec(
        *("top1", "top-1 %", True, "ranked:ranked_hits"),
        k=1,
        scale=100,
        digits=2,
        in_results=True,
        meaning=_TOP_K,
        page="top-k-accuracy",
    ),
    MetricSpec(
        *("mistake_severity", "MS", False, "ranked:ranked_severity"),
        k=1,
        highest=None,
        digits=2,
        in_results=True,
        meaning="MS, mistake severity: mean tree distance of the wrong answers alone.",
        page="mistake-severity",
    ),
    *(
        MetricSpec(
            *(f"ahd_at_{k}", f"AHD@{k}", False, "ranked:ranked_distance"),
            k=k,
            highest=None,
            in_results=True,
            meaning=_DISTANCE,
            page="average-hierarchical-distance",
        )
        for k in (1, 5, 20)
    ),
    *(
        MetricSpec(
            *("hops" if k is None else f"hops_at_{k}", "HOPS" if k is None else f"HOPS@{k}", True, "hops:ranked_hops"),
            k=k,
            in_results=True,
            meaning=_HOPS,
            page="hops",
        )
        for k in (None, 5, 20)
    ),
    *(
        MetricSpec(
            "correct_order_all" if k is None else f"correct_order_at_{k}",
            "correct order all %" if k is None else f"correct order @{k} %",
            *(True, "ranked:ranked_order"),
            k=k,
            scale=100,
            digits=2,
            meaning=_ORDER,
            page="correct-order",
        )
        for k in (1, 3, 5, 10, 20, 50, None)
    ),
    MetricSpec(
        *("mrr", "MRR", True, "retrieval:ranked_reciprocal"),
        meaning="MRR, mean reciprocal rank: mean of one over the place of the true class.",
        page="mean-reciprocal-rank",
    ),
    MetricSpec(
        *("accuracy_level", "accuracy level %", True, "levels:right_at_level", "levels"),
        inner_labels=True,
        k=1,
        scale=100,
        digits=2,
        per_level=True,
        meaning="Accuracy of a level: share of samples whose answer at this level is right.",
        page="level-accuracy",
    ),
    MetricSpec(
        *("fpa", "FPA %", True, "levels:right_on_path", "levels"),
        k=1,
        scale=100,
        digits=2,
        in_results=True,
        meaning="FPA, full-path accuracy: share of samples whose answers are right at every level.",
        page="full-path-accuracy",
    ),
    MetricSpec(
        *("train_seconds", "train s", False, "", "run"),
        highest=math.inf,
        digits=1,
        in_suite=False,
        in_results=True,
    ),
    MetricSpec(
        *("top5", "top-5 %", True, "ranked:ranked_hits", "list"),
        k=5,
        scale=100,
        digits=2,
        in_results=True,
        shown_after="hops",
        meaning=_TOP_K,
        page="top-k-accuracy",
    ),
    MetricSpec(
        *("macro_accuracy", "macro %", True, "ranked:ranked_hits"),
        k=1,
        scale=100,
        digits=2,
        average="classes",
        in_results=True,
        shown_after="top1",
        meaning="Macro accuracy: mean over the classes of their top-1 accuracy.",
        page="macro-accuracy",
    ),
    MetricSpec(
        *("log_loss", "log loss", False, "probability:label_loss", "probabilities"),
        inner_labels=True,
        highest=math.inf,
        in_results=True,
        shown_after="fpa",
        meaning="Log loss: mean negative log-probability of the label, in nats.",
        page="log-loss",
    ),
    MetricSpec(
        *("epochs", "epochs", False, "", "run"),
        highest=math.inf,
        digits=1,
        in_suite=False,
        in_results=True,
        meaning="Epochs: passes over the training samples; none where a solver finds the weights.",
    ),
    MetricSpec(
        *(AVERAGE_PRECISION, "AP", True, "", "run"),
        in_suite=False,
        shown_after="log_loss",
        meaning="AP, average precision: area under the precision-recall curve of all pairs of a sample and a node.",
        page="average-precision",
    ),
    MetricSpec(
        *("subspace_cosine", "cosine", True, "", "run"),
        in_suite=False,
        shown_after="log_loss",
        meaning="Cosine: between an embedding and its projection onto the subspace of its class, mean of the samples.",
    ),
    *(
        MetricSpec(
            *(f"hierarchical_{part}", heading, True, f"ranked:ranked_{part}"),
            k=1,
            in_suite=False,
            meaning=_OVERLAP,
            page="hierarchical-precision-recall",
        )
        for part, heading in (("precision", "hP"), ("recall", "hR"), ("f1", "hF"))
    ),
)
MEASURED = tuple(spec for spec in METRICS if spec.source != "run")
SUITE = tuple(spec for spec in METRICS if spec.in_suite)
RESULTS = tuple(spec for spec in METRICS if spec.in_results)
MAIN = (
    "top1",
    "macro_accuracy",
    "mistake_severity",
    "ahd_at_1",
    "hops",
    "top5",
    "log_loss",
    AVERAGE_PRECISION,
)  # shown first


def metric_spec(name: str, specs: Iterable[MetricSpec] = METRICS) -> MetricSpec:
    """Row of a metric by its name.

    Raises:
        KeyError: for an unknown name.

    Example:
        >>> metric_spec("accuracy_level_2").heading
        'accuracy level 2 %'
    """
    family, _, level = name.rpartition("_")
    for spec in specs:
        if spec.name == name and not spec.per_level:
            return spec
        if spec.per_level and spec.name == family and level.isdecimal():
            return spec.at_level(int(level))
    raise KeyError(f"there is no metric {name!r}")


def of_all_levels(specs: Iterable[MetricSpec], height: int, *, is_tree: bool = True) -> tuple[MetricSpec, ...]:
    """Rows with each per-level row expanded into one row for each level of a tree of height `height`.

    A graph has no levels that a sample could be right at: without a tree, rows of levels are left out.
    """
    if not is_tree:
        return tuple(spec for spec in specs if spec.source != "levels")
    expanded: list[MetricSpec] = []
    for spec in specs:
        expanded += [spec.at_level(level) for level in range(1, height + 1)] if spec.per_level else [spec]
    return tuple(expanded)


def in_shown_order(specs: Collection[MetricSpec]) -> tuple[MetricSpec, ...]:
    """Rows in the column order of tables: in table order, but those with `shown_after` right after that metric.

    Example:
        >>> [spec.name for spec in in_shown_order(RESULTS)][:3]
        ['top1', 'macro_accuracy', 'mistake_severity']
    """
    names = {spec.name for spec in specs}
    ordered = [spec for spec in specs if spec.shown_after not in names]
    for spec in specs:
        if spec.shown_after in names:
            position = next(index for index, other in enumerate(ordered) if other.name == spec.shown_after)
            ordered.insert(position + 1, spec)
    return tuple(ordered)


def legend(specs: Iterable[MetricSpec]) -> str:
    """Meanings of the metrics as one text, each sentence once."""
    return " ".join(dict.fromkeys(spec.meaning for spec in specs if spec.meaning))
