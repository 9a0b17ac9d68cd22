"""What fails in hiclass (numbers 159, 162 and 164 of its tracker) holds here."""

import numpy as np
import pytest

from hiercos import HierarchicalClassifier, HierCOSClassifier
from sklearn_clouds import LEVELS, NAMES, UNEVEN, samples

X, LABELS = samples(200, noise=2.0)
OURS = [HierarchicalClassifier(UNEVEN, random_state=0), HierCOSClassifier(UNEVEN, epochs=40, random_state=0)]
PLAIN = pytest.mark.parametrize("estimator", OURS, ids=["default", "hier-cos"])


# 159: the probabilities of a sample depend on the other samples of the batch.


@PLAIN
def test_the_probabilities_of_a_sample_do_not_depend_on_the_batch(estimator: object) -> None:
    model = estimator.fit(X, NAMES[LABELS])
    for precision, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        many = samples(5000, seed=1, noise=2.0)[0].astype(precision)
        together = model.predict_proba(many)
        for row in (0, 17, 4095, 4096, 4999):
            np.testing.assert_allclose(model.predict_proba(many[row : row + 1])[0], together[row], atol=tolerance)
        np.testing.assert_allclose(model.predict_proba(many[::-1])[::-1], together, atol=tolerance)


# 162: a class at a level above the last one has probability 0.


def test_a_class_of_level_1_has_its_frequency_where_features_say_nothing() -> None:
    shares = np.array([0.1, 0.2, 0.3, 0.4])  # cat, dog, car, plant: car is at level 3, plant at level 1
    labels = np.repeat(np.arange(4), (400 * shares).astype(int))
    nothing = np.random.default_rng(0).normal(size=(400, 2))
    model = HierarchicalClassifier(random_state=0).fit(nothing, LEVELS[labels])
    assert model.classes_.tolist() == ["pet > cat", "pet > dog", "plant", "vehicle > road > car"]
    probabilities = model.predict_proba(nothing)
    np.testing.assert_allclose(probabilities.mean(axis=0), shares[[0, 1, 3, 2]], atol=0.04)  # of 40 held-out samples
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@PLAIN
def test_a_class_of_level_1_is_found_with_a_high_probability(estimator: object) -> None:
    features, labels = samples(200)
    probabilities = estimator.fit(features, LEVELS[labels]).predict_proba(features)
    plant = estimator.classes_.tolist().index("plant")
    assert probabilities[labels == 3, plant].mean() > 0.5 > 0.2 > probabilities[labels != 3, plant].mean()


# 164: sample weights.


@PLAIN
def test_a_class_of_weight_0_is_never_answered(estimator: object) -> None:
    model = estimator.fit(X, NAMES[LABELS], sample_weight=np.where(LABELS == 1, 0.0, 1.0))
    assert "dog" not in model.predict(X)
    assert model.classes_.tolist() == sorted(NAMES)


def test_samples_that_count_ninefold_are_as_good_as_samples_that_are_there_nine_times() -> None:
    some = LABELS == 0
    model = HierarchicalClassifier(UNEVEN, method="tree-logistic")
    plain = model.fit(X, LABELS).predict_proba(X)
    weighted = model.fit(X, LABELS, np.where(some, 9, 1)).predict_proba(X)
    rows = np.concatenate([np.arange(len(X)), *[np.flatnonzero(some)] * 8])
    repeated = model.fit(X[rows], LABELS[rows]).predict_proba(X)
    assert weighted[:, 0].mean() > plain[:, 0].mean() + 0.01
    assert abs(weighted - repeated).mean() < 0.3 * abs(weighted - plain).mean()


def test_weights_may_have_any_unit() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    one, thousand = (
        HierarchicalClassifier(UNEVEN, random_state=0).fit(X, LABELS, unit * weights).predict_proba(X)
        for unit in (1, 1000)
    )
    np.testing.assert_allclose(one, thousand, atol=1e-3)
