"""The table of metrics: name, function, direction, range, heading and meaning of each. Plain Python, open to all.

The torchmetrics classes, the default suite, results.csv, the scorers, every table and legend, the model card and the
contract tests are built from these rows, so a new metric is one function in `hiercos.metrics.functional` and one row
here.
"""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

MetricSource = Literal["ranking", "list", "levels", "nodes", "probabilities", "run"]
Average = Literal["samples", "classes"]


@dataclass(frozen=True)
class MetricSpec:
    """One row of the table: a metric, or a figure of the run itself such as its training time."""

    name: str  # key in the suite, in records and in results.csv; names of per-level metrics end with the level
    heading: str  # column heading in tables
    higher_is_better: bool  # direction of the metric
    # metric function, as "module:name" within `hiercos.metrics.functional`, or a callable. It takes what `source` says,
    # the labels (B,), the taxonomy and options of its own, and returns a value for each sample, shape (B,), nan for one
    # that does not count. Empty for a figure of the run
    function: str | Callable[..., Any] = ""
    # what the function takes. "ranking": class scores (B, C), of which it gets the `Ranking`, see `ranking_metric`.
    # "list": the same, of the short list if a rule has one of its own. "levels": predictions of the levels, nodes (B,
    # H), or node scores (B, N). "nodes": node scores (B, N). "probabilities": natural logarithms of the class
    # probabilities, shape (B, C). "run": no function
    source: MetricSource = "ranking"
    # name of the torchmetrics class in `hiercos.metrics`; the first of several rows with one name makes the class. No
    # class without a name
    class_name: str = ""
    inner_labels: bool = False  # whether samples labelled with an inner node count; a ranking needs a class
    # number of classes that must be ranked, also the function's option if it has one; all by default
    k: int | None = None
    # upper end of the range, whose lower end is 0; None for a tree distance, whose upper end is the largest number of
    # ancestors of a class: the height of a tree, and more in a graph
    highest: float | None = 1.0
    meaning: str = ""  # sentence for legends; a sentence that several metrics share is shown once
    scale: float = 1.0  # factor of the values in tables, 100 for percent
    digits: int = 3  # decimal places in tables
    # "samples" for the mean over the samples that count; "classes" for the mean of the class means, over the classes
    # with such samples
    average: Average = "samples"
    # whether the function has a value for each level, shape (B, H), and the row is expanded into one metric for each;
    # see `at_level`
    per_level: bool = False
    level: int | None = None  # level of a metric of one level; None for other metrics
    in_suite: bool = True  # whether the metric is part of the default suite
    # whether the metric is a column of results.csv and of the tables built from the same records
    in_results: bool = False
    in_scorers: bool = True  # whether the metric is one of the scikit-learn scorers
    shown_after: str | None = None  # name of the metric that it follows in tables; None for its position in this table
    page: str = ""  # name of its page in docs/metrics

    def __post_init__(self) -> None:
        if isinstance(self.function, str) and "." in self.function:
            wanted = "'module:name' within hiercos.metrics.functional, such as 'hops:hops', or a callable"
            raise ValueError(f"metric {self.name!r}: function: expected {wanted}, got {self.function!r}")

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
OF_SETS = (AVERAGE_PRECISION, "hf1_micro", "hf1_macro", "exact_match")  # as the others, which need chosen sets

_percent = partial(MetricSpec, scale=100, digits=2)
_class_only = partial(MetricSpec, in_suite=False, in_scorers=False)
_of_run = partial(MetricSpec, source="run", in_suite=False, in_scorers=False)
_TOP_K = "Top-k: share of samples whose true class is among the first k."
_DISTANCE = "AHD@k, average hierarchical distance: mean tree distance of the first k classes, the true one included."
_HOPS = "HOPS: closeness of the order of the classes to the one the tree prefers, from 0 to 1; HOPS@k: of its first k."
_ORDER = "Correct order @k: share of samples whose first k classes are in an order the tree prefers."
_OVERLAP = "Hierarchical precision, recall and F1: overlap of the paths of the answer and the true class."

METRICS: tuple[MetricSpec, ...] = (
    _percent(
        *("top1", "top-1 %", True, "ranked:top_k_accuracy"),
        class_name="TopKAccuracy",
        k=1,
        in_results=True,
        meaning=_TOP_K,
        page="top-k-accuracy",
    ),
    MetricSpec(
        *("mistake_severity", "MS", False, "ranked:mistake_severity"),
        class_name="MistakeSeverity",
        k=1,
        highest=None,
        digits=2,
        in_results=True,
        meaning="MS, mistake severity: mean tree distance of the wrong answers alone.",
        page="mistake-severity",
    ),
    *(
        MetricSpec(
            *(f"ahd_at_{k}", f"AHD@{k}", False, "ranked:average_hierarchical_distance"),
            class_name="AverageHierarchicalDistance",
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
            *("hops" if k is None else f"hops_at_{k}", "HOPS" if k is None else f"HOPS@{k}", True, "hops:hops"),
            class_name="HOPS",
            k=k,
            in_results=True,
            meaning=_HOPS,
            page="hops",
        )
        for k in (None, 5, 20)
    ),
    *(
        _percent(
            "correct_order_all" if k is None else f"correct_order_at_{k}",
            "correct order all %" if k is None else f"correct order @{k} %",
            *(True, "ranked:correct_order"),
            class_name="CorrectOrder",
            k=k,
            meaning=_ORDER,
            page="correct-order",
        )
        for k in (1, 3, 5, 10, 20, 50, None)
    ),
    MetricSpec(
        *("mrr", "MRR", True, "retrieval:reciprocal_rank"),
        class_name="MeanReciprocalRank",
        meaning="MRR, mean reciprocal rank: mean of one over the place of the true class.",
        page="mean-reciprocal-rank",
    ),
    _percent(
        *("accuracy_level", "accuracy level %", True, "levels:level_accuracy", "levels"),
        class_name="LevelAccuracy",
        inner_labels=True,
        k=1,
        per_level=True,
        meaning="Accuracy of a level: share of samples whose answer at this level is right.",
        page="level-accuracy",
    ),
    _percent(
        *("fpa", "FPA %", True, "levels:full_path_accuracy", "levels"),
        class_name="FullPathAccuracy",
        k=1,
        in_results=True,
        meaning="FPA, full-path accuracy: share of samples whose answers are right at every level.",
        page="full-path-accuracy",
    ),
    _of_run("train_seconds", "train s", False, highest=math.inf, digits=1, in_results=True),
    _percent(
        *("top5", "top-5 %", True, "ranked:top_k_accuracy", "list"),
        k=5,
        in_results=True,
        shown_after="hops",
        meaning=_TOP_K,
        page="top-k-accuracy",
    ),
    _percent(
        *("macro_accuracy", "macro %", True, "ranked:top_k_accuracy"),
        class_name="MacroAccuracy",
        k=1,
        average="classes",
        in_results=True,
        shown_after="top1",
        meaning="Macro accuracy: mean over the classes of their top-1 accuracy.",
        page="macro-accuracy",
    ),
    MetricSpec(
        *("log_loss", "log loss", False, "probability:log_loss", "probabilities"),
        class_name="LogLoss",
        inner_labels=True,
        highest=math.inf,
        in_results=True,
        shown_after="fpa",
        meaning="Log loss: mean negative log-probability of the label, in nats.",
        page="log-loss",
    ),
    _of_run(
        *("epochs", "epochs", False),
        highest=math.inf,
        digits=1,
        in_results=True,
        meaning="Epochs: passes over the training samples; none where a solver finds the weights.",
    ),
    _of_run(
        *(AVERAGE_PRECISION, "AP", True),
        shown_after="log_loss",
        page="average-precision",
        meaning="AP, average precision: area under the precision-recall curve of all pairs of a sample and a node.",
    ),
    _of_run(
        *("hf1_micro", "hF1", True),
        page="average-precision",
        meaning="hF1: F1 of all pairs of a sample and a node, where samples have several labels.",
    ),
    _of_run(
        *("hf1_macro", "macro hF1", True),
        page="average-precision",
        meaning="Macro hF1: mean F1 of the nodes, where samples have several labels.",
    ),
    _of_run(
        *("exact_match", "exact %", True),
        scale=100,
        digits=2,
        page="average-precision",
        meaning="Exact: share of samples whose set of nodes is the right one.",
    ),
    _of_run(
        *("subspace_cosine", "cosine", True),
        shown_after="log_loss",
        meaning="Cosine: between an embedding and its projection onto the subspace of its class, mean of the samples.",
    ),
    *(
        MetricSpec(
            *(f"hierarchical_{part.lower()}", heading, True, f"ranked:hierarchical_{part.lower()}"),
            class_name=f"Hierarchical{part}",
            k=1,
            in_suite=False,
            meaning=_OVERLAP,
            page="hierarchical-precision-recall",
        )
        for part, heading in (("Precision", "hP"), ("Recall", "hR"), ("F1", "hF"))
    ),
    _class_only(
        *("ndcg", "NDCG", True, "retrieval:ndcg"),
        class_name="NDCG",
        page="ndcg",
        meaning="NDCG: discounted relevance of the first k classes by edges of the tree, over that of the ideal order.",
    ),
    _class_only(
        *("preference_order_distance", "order distance", False, "ranked:preference_order_distance"),
        class_name="PreferenceOrderDistance",
        highest=math.inf,
        page="preference-order-distance",
        meaning="Order distance: mean distance of the order of the classes to the one the tree prefers.",
    ),
    _class_only(
        *("expected_cost", "cost", False, "ranked:expected_cost"),
        class_name="ExpectedCost",
        k=1,
        highest=math.inf,
        page="expected-cost",
        meaning="Expected cost: mean cost of the answers under a matrix of costs.",
    ),
    _class_only(
        *("tree_inconsistency", "TICE", False, "levels:tree_inconsistency", "levels"),
        class_name="TreeInconsistency",
        inner_labels=True,
        page="tree-inconsistency",
        meaning="TICE, tree inconsistency: share of samples whose answers at the levels are no path of the tree.",
    ),
    _class_only(
        *("mean_normalized_rank", "MNR", False, "retrieval:normalized_rank", "nodes"),
        class_name="MeanNormalizedRank",
        inner_labels=True,
        page="mean-normalized-rank",
        meaning="MNR, mean normalised rank: mean place of the true node at each level over the level's width.",
    ),
)
CLASSES = {spec.class_name: spec for spec in reversed(METRICS) if spec.class_name}
MEASURED = tuple(spec for spec in METRICS if spec.in_scorers)
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
    *OF_SETS,
)  # first


def metric_spec(name: str, specs: Iterable[MetricSpec] = METRICS) -> MetricSpec:
    """Row of a metric by its name.

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
