"""Hierarchical metrics as scikit-learn scorers: `cross_val_score(model, X, y, scoring=hops_scorer)`.

They take any fitted classifier with `decision_function` or `predict_proba`, at the end of a pipeline or a search, too.
Higher is better, as scikit-learn has it: a metric of which less is better is negated, and its name begins with `neg_`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hiercos.errors import suggestion
from hiercos.metrics import functional as HF
from hiercos.metrics import suite_names, suite_values
from hiercos.sklearn.estimator import TaxonomyClassifier
from hiercos.sklearn.parameters import TaxonomyArgument, taxonomy_argument
from hiercos.taxonomy import AnyArray, IntArray, Taxonomy, label_array, label_codec

OVERLAPS = {
    "hierarchical_precision": HF.hierarchical_precision,
    "hierarchical_recall": HF.hierarchical_recall,
    "hierarchical_f1": HF.hierarchical_f1,
}
NEGATED = ("mistake_severity", "ahd_at_")  # beginnings of the names of distances
NEGATIVE = "neg_"


@dataclass(frozen=True)
class HierarchicalScorer:
    """One metric, or all of them, of a classifier's ranking.

    Args:
        metric: a name of `scorer_names`; None for all of them by name, which `cross_validate` and a search take as well
            (a search with `refit="hops"`).
        taxonomy: the tree, whose classes the labels name; by default, that of the classifier, if it is one of ours.
    """

    metric: str | None = None
    taxonomy: TaxonomyArgument | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The mean over the samples that count, or a dict of them.

        Raises:
            ValueError: for a metric that does not exist, a label that the taxonomy does not have, another number of
                weights than samples, a classifier whose taxonomy is not known, or one without a score for each class.
        """
        last = _last_step(estimator)
        taxonomy = _taxonomy(last, self.taxonomy)
        names = scorer_names(taxonomy)
        if self.metric is not None and self.metric not in names:
            raise ValueError(f"there is no metric {self.metric!r}{suggestion(str(self.metric), names)}")
        scores = _class_scores(estimator, X, taxonomy)
        labels = _classes(last, label_array(y), taxonomy)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != labels.shape:
            raise ValueError(f"sample_weight: expected shape {labels.shape}, got {weights.shape}")
        values = _means(scores, torch.tensor(labels), torch.tensor(weights), taxonomy)
        return values if self.metric is None else values[self.metric]


def scorer_names(taxonomy: Taxonomy) -> tuple[str, ...]:
    """The metrics there are: those of the suite, and hierarchical precision, recall and F1.

    The answer at a level is that of the best class's path, so `fpa` is the same as `top1`.

    Example:
        >>> scorer_names(Taxonomy.from_paths([("pet", "cat"), ("car",)]))[:3]
        ('top1', 'neg_mistake_severity', 'neg_ahd_at_1')
    """
    return tuple(_signed(name) for name in (*suite_names(taxonomy), *OVERLAPS))


def _signed(name: str) -> str:
    return f"{NEGATIVE}{name}" if name.startswith(NEGATED) else name


def _last_step(estimator: Any) -> Any:
    """The classifier within a search or at the end of a pipeline."""
    if hasattr(estimator, "best_estimator_"):
        return _last_step(estimator.best_estimator_)
    return _last_step(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def _taxonomy(estimator: Any, given: TaxonomyArgument | None) -> Taxonomy:
    if given is not None:
        return taxonomy_argument(given)
    if not isinstance(estimator, TaxonomyClassifier):
        raise ValueError(
            f"the taxonomy of {type(estimator).__name__} is not known: expected HierarchicalScorer(metric, taxonomy)"
        )
    check_is_fitted(estimator, "taxonomy_")
    return estimator.taxonomy_


def _classes(estimator: Any, y: AnyArray, taxonomy: Taxonomy) -> IntArray:
    """Labels as classes: as a classifier of ours reads them, else by name, id, path, number or index."""
    if _is_ours(estimator, taxonomy):
        classes: IntArray = estimator.labels_.read(y)
        return classes
    return label_codec(y, taxonomy).read(y)


def _is_ours(estimator: Any, taxonomy: Taxonomy) -> bool:
    return isinstance(estimator, TaxonomyClassifier) and estimator.taxonomy_ == taxonomy


def _class_scores(estimator: Any, X: Any, taxonomy: Taxonomy) -> Tensor:
    """Scores by class, shape (M, C); a class that the estimator does not know comes last."""
    respond = getattr(estimator, "decision_function", None) or getattr(estimator, "predict_proba", None)
    if respond is None:
        raise ValueError(f"expected a classifier with decision_function or predict_proba, got {estimator!r}")
    columns = np.asarray(respond(X), dtype=np.float64)
    if columns.ndim == 1:
        columns = np.stack([-columns, columns], axis=1)
    last = _last_step(estimator)
    classes = last.labels_.columns if _is_ours(last, taxonomy) else _classes(last, np.asarray(last.classes_), taxonomy)
    if columns.shape[1] != len(classes):
        raise ValueError(f"expected a score for each of {len(classes)} classes, got {columns.shape[1]} of {last!r}")
    scores = torch.full((len(columns), taxonomy.num_classes), -torch.inf, dtype=torch.float64)
    scores[:, classes] = torch.tensor(columns)
    return scores


def _means(scores: Tensor, labels: Tensor, weights: Tensor, taxonomy: Taxonomy) -> dict[str, float]:
    """Every metric, from (M, C), (M,), (M,); nan where no sample counts."""
    overlaps = [overlap(scores, labels, taxonomy).double() for overlap in OVERLAPS.values()]
    values = torch.cat([suite_values(scores, labels, taxonomy), torch.stack(overlaps, dim=1)], dim=1)  # (M, metrics)
    counted = values.isnan().logical_not() * weights[:, None]
    means = (values.nan_to_num() * counted).sum(dim=0) / counted.sum(dim=0)
    names = (*suite_names(taxonomy), *OVERLAPS)
    signs = [-1 if name.startswith(NEGATED) else 1 for name in names]
    return {_signed(name): sign * float(mean) for name, sign, mean in zip(names, signs, means, strict=True)}


hops_scorer = HierarchicalScorer("hops")
hops_at_5_scorer = HierarchicalScorer("hops_at_5")
hops_at_20_scorer = HierarchicalScorer("hops_at_20")
mistake_severity_scorer = HierarchicalScorer("neg_mistake_severity")
average_hierarchical_distance_scorer = HierarchicalScorer("neg_ahd_at_1")
hierarchical_f1_scorer = HierarchicalScorer("hierarchical_f1")
all_metrics_scorer = HierarchicalScorer()
