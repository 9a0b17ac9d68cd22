"""Against the definition: probabilities times the matrix of distances."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.decisions.class_rules import LeastRisk
from trees import TOY, taxonomies


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000))
def test_the_value_is_minus_the_expected_distance_on_every_tree(taxonomy: Taxonomy, seed: int) -> None:
    probabilities = random_probabilities(taxonomy, seed)
    values = LeastRisk().class_values(Posterior(probabilities, taxonomy))
    distances = probabilities @ taxonomy.distance_matrix()
    np.testing.assert_allclose(values, -distances, rtol=0, atol=1e-12)
    answers = rule("crm")(Posterior(probabilities, taxonomy)).classes
    own = np.take_along_axis(distances, answers[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(own, distances.min(axis=1), rtol=0, atol=1e-12)


def test_classes_of_equal_risk_have_equal_values_and_the_lower_one_is_answered() -> None:
    posterior = Posterior([[0.25, 0.25, 0.5], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]], TOY)
    assert rule("crm").ranking(posterior).tolist() == [[-1.25, -1.25, -1.0], [-2.0, -2.0, 0.0], [-0.5, -0.5, -2.0]]
    assert rule("crm")(posterior).classes.tolist() == [2, 2, 0]


def test_a_less_likely_class_wins_where_its_relatives_are_likely() -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("car",)])
    decision = rule("crm")(Posterior([[0.25, 0.2, 0.15, 0.4]], taxonomy))
    assert decision.classes.tolist() == [0]
    assert decision.probabilities.tolist() == [0.25]
