"""Against the definition: probabilities times the matrix of distances."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.distributions import random_probabilities
from hiercos import Taxonomy
from hiercos.decisions import crm_scores
from trees import TOY, taxonomies


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000))
def test_the_score_is_minus_the_expected_distance_on_every_tree(taxonomy: Taxonomy, seed: int) -> None:
    probabilities = torch.from_numpy(random_probabilities(taxonomy, seed))
    expected = -probabilities @ torch.tensor(taxonomy.distance_matrix(), dtype=torch.float64)
    torch.testing.assert_close(crm_scores(probabilities, taxonomy), expected, rtol=0, atol=1e-12)


def test_classes_of_equal_risk_have_equal_scores() -> None:
    scores = crm_scores(torch.tensor([[0.25, 0.25, 0.5], [0.0, 0.0, 1.0]]), TOY)
    assert scores.tolist() == [[-1.25, -1.25, -1.0], [-2.0, -2.0, 0.0]]


def test_a_less_likely_class_wins_where_its_relatives_are_likely() -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("car",)])
    probabilities = torch.tensor([[0.25, 0.2, 0.15, 0.4]])
    assert crm_scores(probabilities, taxonomy).argmax().item() == 0


def test_the_probabilities_are_left_as_they_were() -> None:
    probabilities = torch.from_numpy(random_probabilities(TOY, 0))
    before = probabilities.clone()
    crm_scores(probabilities, TOY)
    assert torch.equal(probabilities, before)


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected probabilities of shape \(B, 3\)"):
        crm_scores(torch.ones(2, 4), TOY)
