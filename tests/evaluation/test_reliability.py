import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.evaluation import LabelledPosterior, VariantAnswers, reliability_rows
from hiercos.evaluation.answer_analysis import level_curves
from hiercos.evaluation.reliability import level_answers, reliability_bins
from trees import random_tree

UNEVEN = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])


def test_a_class_that_ends_above_a_level_is_its_own_node_there() -> None:
    posterior = Posterior([[0.2, 0.3, 0.5], [0.2, 0.1, 0.7], [0.5, 0.4, 0.1]], UNEVEN)
    pet, plant, _, dog = range(4)
    found = level_answers(posterior, np.array([plant, dog, pet]))
    np.testing.assert_allclose(found.confidence, [[0.5, 0.5], [0.7, 0.7], [0.9, 0.5]])
    np.testing.assert_array_equal(found.right, [[0, 1], [0, 0], [1, np.nan]])


def test_a_posterior_without_samples_has_no_answers() -> None:
    found = level_answers(Posterior(np.empty((0, 3)), UNEVEN), np.empty(0, dtype=np.int64))
    assert found.confidence.shape == found.right.shape == (0, 2)


def test_a_confidence_on_a_bound_is_in_the_lower_bin() -> None:
    found = reliability_bins(np.array([0.0, 0.1, 0.5, 0.51, 1.0]), np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
    assert found.places.tolist() == [0, 4, 5, 9]
    assert found.samples.tolist() == [2, 1, 1, 1]
    assert found.confidence.tolist() == [0.05, 0.5, 0.51, 1.0]
    assert found.accuracy.tolist() == [0.5, 1.0, 0.0, 1.0]
    assert found.error == pytest.approx((2 * 0.45 + 0.5 + 0.51) / 5)


@pytest.mark.parametrize("seed", range(3))
def test_the_report_and_the_table_of_reliability_agree(seed: int) -> None:
    taxonomy, generator = random_tree(seed, 30), np.random.default_rng(seed)
    drawn = generator.dirichlet(np.full(taxonomy.num_classes, 0.2), size=200)
    posterior = Posterior(generator.multinomial(10, drawn) / 10, taxonomy)  # many of them on the bounds of bins
    labels = generator.integers(taxonomy.num_classes, size=200)
    rows = reliability_rows(LabelledPosterior(posterior, taxonomy.leaves[labels]))
    for curve in level_curves(VariantAnswers("a", "a", rule("none"), posterior, labels)):
        own = [row for row in rows if row["level"] == curve.level and row["confidence"] != "(all)"]
        assert [row["samples"] for row in own] == list(curve.samples)
        assert [row["mean_confidence"] for row in own] == list(curve.confidence)
        assert [row["accuracy"] for row in own] == list(curve.accuracy)
