import math

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.errors import DataError
from hiercos.metrics import functional as HF
from hiercos.metrics import metric_spec
from hiercos.sklearn.scorers import HierarchicalScorer, hops_scorer, scorer_names
from sklearn_clouds import LEVELS, NAMES, PATHS, UNEVEN, samples

ALL = HierarchicalScorer()
X, LABELS = samples(120, noise=3.0)
Y = NAMES[LABELS]


def ours(**parameters: object) -> HierarchicalClassifier:
    return HierarchicalClassifier(UNEVEN, **{"method": "path-softmax", "rule": "auto", "epochs": 3, **parameters})


def class_order(scores: np.ndarray, classes: np.ndarray) -> torch.Tensor:
    """Columns in the order of names to the order of the tree's classes."""
    return torch.tensor(scores[:, [classes.tolist().index(name) for name in NAMES]])


def test_cross_validation_with_all_metrics_gives_what_the_metrics_give() -> None:
    folds = KFold(3)
    found = cross_validate(ours(), X, Y, scoring=ALL, cv=folds)
    assert {name.removeprefix("test_") for name in found if name.startswith("test_")} == set(scorer_names(UNEVEN))
    for fold, (fit, test) in enumerate(folds.split(X)):
        model = clone(ours()).fit(X[fit], Y[fit])
        scores, labels = class_order(model.decision_function(X[test]), model.classes_), torch.tensor(LABELS[test])
        wrong = scores.argmax(dim=1) != labels
        distances = torch.tensor(UNEVEN.distance_matrix())[labels, scores.argmax(dim=1)].double()
        expected = {
            "top1": (~wrong).double().mean(),
            "hops": HF.hops(scores, labels, UNEVEN).mean(),
            "hops_at_5": HF.hops(scores, labels, UNEVEN, k=5).mean(),
            "neg_ahd_at_1": -distances.mean(),
            "neg_mistake_severity": -distances[wrong].mean(),
            "hierarchical_f1": HF.hierarchical_f1(scores, labels, UNEVEN).mean(),
            "hierarchical_precision": HF.hierarchical_precision(scores, labels, UNEVEN).mean(),
            "top5": 1.0,  # of 4 classes
            "macro_accuracy": HF.macro_accuracy(scores, labels, UNEVEN),
            "neg_log_loss": -log_loss(Y[test], model.predict_proba(X[test]), labels=model.classes_),
        }
        for name, value in expected.items():
            assert found[f"test_{name}"][fold] == pytest.approx(float(value), abs=1e-6)


def test_each_scorer_is_one_of_all_metrics() -> None:
    model = ours().fit(X, Y)
    values = ALL(model, X, Y)
    assert hops_scorer(model, X, Y) == values["hops"]
    for name, value in values.items():
        assert HierarchicalScorer(name)(model, X, Y) == pytest.approx(value, rel=1e-12, nan_ok=True)
    assert values["neg_log_loss"] < 0
    assert HierarchicalScorer(metric_spec("ndcg"))(model, X, Y) > 0.5  # a row that is no scorer by name
    assert values["top1"] == model.score(X, Y)


def test_macro_accuracy_is_the_balanced_accuracy_and_log_loss_needs_probabilities() -> None:
    rows = np.flatnonzero((LABELS != 1) | (np.arange(120) % 5 == 0))  # few of one class
    flat = LogisticRegression().fit(X, Y)
    values = HierarchicalScorer(None, UNEVEN)(flat, X[rows], Y[rows])
    assert values["macro_accuracy"] == pytest.approx(balanced_accuracy_score(Y[rows], flat.predict(X[rows])))
    assert values["neg_log_loss"] == pytest.approx(-log_loss(Y[rows], flat.predict_proba(X[rows])))
    assert math.isnan(HierarchicalScorer("neg_log_loss", UNEVEN)(LinearSVC().fit(X, Y), X, Y))


@pytest.mark.parametrize("labels", [NAMES, PATHS, LEVELS, np.arange(4)], ids=["names", "paths", "levels", "indices"])
def test_the_form_of_the_labels_does_not_matter(labels: np.ndarray) -> None:
    expected = hops_scorer(ours().fit(X, Y), X, Y)
    assert hops_scorer(ours().fit(X, labels[LABELS]), X, labels[LABELS]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "labels", [NAMES, PATHS, np.arange(4), np.arange(4.0)], ids=["names", "paths", "indices", "floats"]
)
def test_a_flat_classifier_is_scored_with_a_taxonomy(labels: np.ndarray) -> None:
    flat = LogisticRegression().fit(X, labels[LABELS])
    columns = labels.tolist()
    order = [flat.classes_.tolist().index(label) for label in columns]
    scores = torch.tensor(flat.decision_function(X)[:, order])
    expected = float(HF.hops(scores, torch.tensor(LABELS), UNEVEN).mean())
    assert HierarchicalScorer("hops", UNEVEN)(flat, X, labels[LABELS]) == pytest.approx(expected)
    assert HierarchicalScorer("hops", PATHS.tolist())(flat, X, labels[LABELS]) == pytest.approx(expected)


def test_numbers_that_are_names_of_classes_are_read_as_names() -> None:
    codes = Taxonomy.from_paths([("1", "30"), ("1", "10"), ("2", "20")])
    labels, y = np.arange(90) % 3, np.array([30, 10, 20])[np.arange(90) % 3]
    features = np.eye(3)[labels]
    assert HierarchicalScorer("top1", codes)(LogisticRegression().fit(features, y), features, y) == 1


def test_classifiers_with_either_kind_of_scores_are_taken() -> None:
    for flat in (LinearSVC(), DummyClassifier()):
        values = HierarchicalScorer(None, UNEVEN)(flat.fit(X, Y), X, Y)
        assert values["top1"] == pytest.approx(flat.score(X, Y))


def test_a_class_that_a_classifier_does_not_know_comes_last() -> None:
    known = LABELS < 2
    flat = LogisticRegression().fit(X[known], Y[known])
    values = HierarchicalScorer(None, UNEVEN)(flat, X, Y)
    assert values["top1"] == pytest.approx(0.5 * flat.score(X[known], Y[known]))


def test_a_search_and_a_pipeline_are_seen_through() -> None:
    pipeline = make_pipeline(StandardScaler(), ours())
    search = GridSearchCV(pipeline, {"hierarchicalclassifier__rule": ["none", "hops"]}, scoring=hops_scorer, cv=2)
    search.fit(X, Y)
    assert hops_scorer(search, X, Y) == search.score(X, Y) == hops_scorer(search.best_estimator_, X, Y)


def test_a_search_takes_all_metrics_and_chooses_by_one() -> None:
    search = GridSearchCV(ours(), {"rule": ["none", "hops"]}, scoring=ALL, refit="hops", cv=2).fit(X, Y)
    assert search.best_score_ == search.cv_results_["mean_test_hops"].max()


def test_samples_count_by_their_weights() -> None:
    model, weights = ours().fit(X, Y), np.arange(120) % 3
    repeated = np.repeat(np.arange(120), weights)
    for name, value in ALL(model, X, Y, sample_weight=weights).items():
        assert value == pytest.approx(ALL(model, X[repeated], Y[repeated])[name])


def test_no_weight_at_all_is_no_number() -> None:
    model = ours().fit(X, Y)
    assert all(math.isnan(value) for value in ALL(model, X, Y, sample_weight=np.zeros(120)).values())


def test_no_mistakes_have_no_severity() -> None:
    features, labels = samples(120, noise=0.1)
    model = ours(epochs=30).fit(features, labels)
    assert math.isnan(HierarchicalScorer("neg_mistake_severity")(model, features, labels))
    assert hops_scorer(model, features[:1], labels[:1]) == 1


def test_what_cannot_be_scored_is_said_in_one_sentence() -> None:
    flat = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match=r"^there is no metric 'hosp'; did you mean 'hops'\?$"):
        HierarchicalScorer("hosp", UNEVEN)(flat, X, Y)
    with pytest.raises(ValueError, match=r"^there is no metric 3"):
        HierarchicalScorer(3, UNEVEN)(flat, X, Y)
    with pytest.raises(NotFittedError, match="This HierarchicalClassifier instance is not fitted yet"):
        hops_scorer(HierarchicalClassifier(UNEVEN), X, Y)
    with pytest.raises(ValueError, match=r"^the taxonomy of LogisticRegression is not known: expected Hierarchical"):
        hops_scorer(flat, X, Y)
    with pytest.raises(ValueError, match=r"^expected a classifier with decision_function or predict_proba, got Ridge"):
        HierarchicalScorer("hops", UNEVEN)(Ridge().fit(X, LABELS), X, LABELS)
    with pytest.raises(DataError, match=r"^y: row 1: unknown label 'cow'"):
        HierarchicalScorer("hops", UNEVEN)(flat, X[:2], ["cow", "cat"])
    with pytest.raises(ValueError, match=r"^sample_weight: expected shape \(120,\), got \(1,\)$"):
        HierarchicalScorer("hops", UNEVEN)(flat, X, Y, sample_weight=[1.0])
    pairs = SVC(decision_function_shape="ovo").fit(X, Y)
    with pytest.raises(ValueError, match=r"^expected a score for each of 4 classes, got 6 of SVC\("):
        HierarchicalScorer("hops", UNEVEN)(pairs, X, Y)
