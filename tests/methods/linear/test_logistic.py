"""Logistic regression: its prior, and what all solved heads have in common."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hiercos import Taxonomy
from hiercos.methods import LabelledFeatures
from hiercos.methods.linear.convex import Prior
from hiercos.methods.linear.logistic import SHARES, choose_prior
from hiercos.methods.solver import folds
from solving import data, solved
from trees import TOY, TOY17

FLAT = Taxonomy.from_paths([(name,) for name in "abc"])


@pytest.mark.parametrize("taxonomy", [TOY, TOY17, FLAT], ids=["toy", "toy17", "flat"])
@pytest.mark.parametrize("name", ["logistic", "tree-logistic", "gaussian", "linear-svm"])
def test_solved_heads_learn_the_classes(name: str, taxonomy: Taxonomy) -> None:
    train, test = data(taxonomy, 40 * taxonomy.num_classes), data(taxonomy, 200, seed=1)
    model, _ = solved(name, taxonomy, train, None)
    accuracy = (model.array_scores(test.features).argmax(axis=1) == test.labels).mean()
    centroid = nearest_centroid(train, test)
    assert accuracy > centroid - 0.1
    assert accuracy > 1.5 / taxonomy.num_classes


def nearest_centroid(train: LabelledFeatures, test: LabelledFeatures) -> float:
    means = np.stack([train.features[train.labels == label].mean(axis=0) for label in np.unique(train.labels)])
    distances = np.square(test.features[:, None] - means).sum(axis=2)
    return float((np.unique(train.labels)[distances.argmin(axis=1)] == test.labels).mean())


def test_the_tree_is_ignored_where_it_misleads_and_used_where_it_helps() -> None:
    generator = np.random.default_rng(0)
    tree = Taxonomy.from_paths([(f"group {place // 5}", f"class {place}") for place in range(20)])
    groups = generator.normal(size=(4, 30)) * 3
    helpful = np.repeat(groups, 5, axis=0) + generator.normal(size=(20, 30))

    def drawn(centres: np.ndarray, count: int) -> LabelledFeatures:
        labels = np.arange(count) % 20
        noise = generator.normal(size=(count, 30)) * 3
        return LabelledFeatures((centres[labels] + noise).astype(np.float32), labels)

    prior, _ = choose_prior(drawn(helpful, 60), drawn(helpful, 2000), tree, (0.0, 0.5, 0.8), seed=0)
    assert prior.shared > 0


@pytest.mark.parametrize(
    ("kind", "shares", "expected"),
    [
        (np.asarray, SHARES, Prior(4096, 0.8, 0.0)),
        (np.asarray, (0.0,), Prior(4096, 0.0, 0.0)),
        (lambda features: features * np.array([1, 1, 1, 1, 1000]), SHARES, Prior(4096, 0.8, 0.5)),
        (csr_matrix, SHARES, Prior(16384, 0.8)),
    ],
)
def test_one_sample_of_each_class_without_validation_has_a_fixed_prior(kind: Any, shares: Any, expected: Prior) -> None:
    features = np.random.default_rng(0).normal(size=(17, 5)).astype(np.float32)
    train = LabelledFeatures(kind(features), np.arange(17))
    assert choose_prior(train, None, TOY17, shares, seed=0) == (expected, None)


def test_folds_hold_out_every_sample_once_and_spread_the_classes() -> None:
    labels = np.repeat([0, 1, 2], [10, 5, 1])
    masks = folds(labels, 5, seed=3)
    assert np.stack(masks).sum(axis=0).tolist() == [1] * 16
    assert [int((labels[mask] == 0).sum()) for mask in masks] == [2] * 5


def test_sparse_and_dense_features_give_the_same_scores() -> None:
    train = data(TOY17, 300)
    model, _ = solved("logistic", TOY17, train, None)
    sparse = csr_matrix(train.features)
    np.testing.assert_allclose(model.array_scores(sparse), model.array_scores(train.features), rtol=1e-4, atol=1e-4)
