"""Hierarchical metrics as scikit-learn scorers: `cross_val_score(model, X, y, scoring=hops_scorer)`.

They take any fitted classifier with `decision_function` or `predict_proba`, also inside a pipeline or a search.
Higher is better, as usual in scikit-learn: a metric where lower is better is negated and its name starts with `neg_`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from hiercos.errors import suggestion
from hiercos.metrics import MEASURED, MetricSpec, of_all_levels, suite_means, suite_values
from hiercos.sklearn.classifier import HierarchicalClassifier
from hiercos.sklearn.inputs import TaxonomyArgument, taxonomy_argument
from hiercos.taxonomy import AnyArray, FloatArray, IntArray, Taxonomy, label_array, label_codec, label_indices

NEGATIVE = "neg_"


@dataclass(frozen=True)
class HierarchicalScorer:
    """Scorer of one metric, or of all metrics, of a classifier's ranking.

    Args:
        metric: name of a metric in `scorer_names`, or a row of your own for the metric table; None for a dict of all,
            which `cross_validate` and a search accept as well (a search with `refit="hops"`).
        taxonomy: taxonomy of the labels; by default that of the classifier, if it is an estimator of this package.

    Example:
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> X = np.repeat(np.eye(3), 20, axis=0)
        >>> y = np.repeat(["cat", "dog", "car"], 20)
        >>> tree = [("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]
        >>> HierarchicalScorer("top1", tree)(LogisticRegression().fit(X, y), X, y)
        1.0
    """

    metric: str | MetricSpec | None = None
    taxonomy: TaxonomyArgument | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The mean of the metric over the samples that count, or a dict of the means of all metrics."""
        last = _last_step(estimator)
        taxonomy = _taxonomy(last, self.taxonomy)
        specs = self._specs(taxonomy)
        scores = _class_scores(estimator, X, taxonomy)
        labels = _classes(last, label_array(y), taxonomy)
        weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != labels.shape:
            raise ValueError(f"sample_weight: expected shape {labels.shape}, got {weights.shape}")
        sources, true = {spec.source for spec in specs}, torch.tensor(labels)
        logs = _log_probabilities(estimator, X, taxonomy) if "probabilities" in sources else None
        listed = _listed(estimator, X, scores, taxonomy) if "list" in sources else None
        values = suite_values(scores, true, taxonomy, log_probabilities=logs, listed=listed, specs=specs)
        means = suite_means(values, true, taxonomy, torch.tensor(weights), specs=specs)
        columns = of_all_levels(specs, taxonomy.height, is_tree=taxonomy.is_tree)
        signed = [float(mean if spec.higher_is_better else -mean) for mean, spec in zip(means, columns, strict=True)]
        return signed[0] if self.metric is not None else dict(zip(scorer_names(taxonomy), signed, strict=True))

    def _specs(self, taxonomy: Taxonomy) -> tuple[MetricSpec, ...]:
        """Rows of the metrics."""
        if self.metric is None:
            return MEASURED
        if isinstance(self.metric, MetricSpec):
            return (self.metric,)
        columns, names = of_all_levels(MEASURED, taxonomy.height, is_tree=taxonomy.is_tree), scorer_names(taxonomy)
        if self.metric not in names:
            raise ValueError(f"there is no metric {self.metric!r}{suggestion(str(self.metric), names)}")
        return (columns[names.index(self.metric)],)


def scorer_names(taxonomy: Taxonomy) -> tuple[str, ...]:
    """The names of all metrics.

    The prediction at a level is the ancestor of the best class, so `fpa` equals `top1`. The log loss needs a
    classifier with `predict_proba` and is nan for others.

    Example:
        >>> scorer_names(Taxonomy.from_paths([("pet", "cat"), ("car",)]))[:3]
        ('top1', 'neg_mistake_severity', 'neg_ahd_at_1')
    """
    columns = of_all_levels(MEASURED, taxonomy.height, is_tree=taxonomy.is_tree)
    return tuple(spec.name if spec.higher_is_better else f"{NEGATIVE}{spec.name}" for spec in columns)


def _listed(estimator: Any, X: Any, scores: Tensor, taxonomy: Taxonomy) -> Tensor | None:
    """Scores of the list of an estimator whose rule has another order for it, shape (M, C); None for others.

    That is the answer, which is first in the ranking, and then the likeliest classes.
    """
    last = _last_step(estimator)
    if not (isinstance(last, HierarchicalClassifier) and last.rule_.lists_by_probability):
        return None
    logs = _by_class(estimator, np.asarray(estimator.predict_log_proba(X), dtype=np.float64), taxonomy)
    return logs.scatter(1, scores.argmax(dim=1, keepdim=True), torch.inf)


def _last_step(estimator: Any) -> Any:
    """The classifier within a search or at the end of a pipeline."""
    if hasattr(estimator, "best_estimator_"):
        return _last_step(estimator.best_estimator_)
    return _last_step(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def _taxonomy(estimator: Any, given: TaxonomyArgument | None) -> Taxonomy:
    if given is not None:
        return taxonomy_argument(given)
    if not isinstance(estimator, HierarchicalClassifier):
        raise ValueError(
            f"the taxonomy of {type(estimator).__name__} is not known: expected HierarchicalScorer(metric, taxonomy)"
        )
    check_is_fitted(estimator, "taxonomy_")
    return estimator.taxonomy_


def _classes(estimator: Any, y: AnyArray, taxonomy: Taxonomy) -> IntArray:
    """Label index of each label: as our estimators read it, else by name, id, path or index."""
    codec = estimator.labels_ if _is_ours(estimator, taxonomy) else label_codec(y, taxonomy)
    return label_indices(codec.read(y), taxonomy)


def _is_ours(estimator: Any, taxonomy: Taxonomy) -> bool:
    return isinstance(estimator, HierarchicalClassifier) and estimator.taxonomy_ == taxonomy


def _class_scores(estimator: Any, X: Any, taxonomy: Taxonomy) -> Tensor:
    """Scores by class, shape (M, C); -inf for a class that the estimator does not know."""
    respond = getattr(estimator, "decision_function", None) or getattr(estimator, "predict_proba", None)
    if respond is None:
        raise ValueError(f"expected a classifier with decision_function or predict_proba, got {estimator!r}")
    columns = np.asarray(respond(X), dtype=np.float64)
    if columns.ndim == 1:
        columns = np.stack([-columns, columns], axis=1)
    return _by_class(estimator, columns, taxonomy)


def _log_probabilities(estimator: Any, X: Any, taxonomy: Taxonomy) -> Tensor | None:
    """Log-probabilities by class, shape (M, C), -inf for an unknown class; None without `predict_proba`."""
    if not hasattr(estimator, "predict_proba"):
        return None
    return _by_class(estimator, torch.tensor(estimator.predict_proba(X), dtype=torch.float64).log().numpy(), taxonomy)


def _by_class(estimator: Any, columns: FloatArray, taxonomy: Taxonomy) -> Tensor:
    """Columns of the estimator's classes expanded to all classes, shape (M, C), -inf for the others."""
    last = _last_step(estimator)
    classes = last.labels_.columns if _is_ours(last, taxonomy) else _classes(last, np.asarray(last.classes_), taxonomy)
    if columns.shape[1] != len(classes):
        raise ValueError(f"expected a score for each of {len(classes)} classes, got {columns.shape[1]} of {last!r}")
    scores = torch.full((len(columns), taxonomy.num_classes), -torch.inf, dtype=torch.float64)
    scores[:, classes] = torch.tensor(columns)
    return scores


hops_scorer = HierarchicalScorer("hops")
