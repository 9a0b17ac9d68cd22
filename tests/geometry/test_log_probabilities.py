import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.geometry import (
    cascade_log_probabilities,
    node_log_probabilities,
    node_probabilities,
    sibling_log_softmax,
)
from trees import TOY, taxonomies

random_trees = given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))


@settings(deadline=None, max_examples=50)
@random_trees
def test_node_log_probabilities_are_the_logs_of_summed_probabilities(taxonomy: Taxonomy, seed: int) -> None:
    logits = normal(3, taxonomy.num_classes, seed=seed)
    expected = node_probabilities(logits.softmax(dim=1), taxonomy).log()
    torch.testing.assert_close(node_log_probabilities(logits, taxonomy), expected)


def test_log_probabilities_too_small_for_a_probability_are_exact_with_finite_gradients() -> None:
    logits = torch.tensor([[-2000.0, -2000.0, 0.0]], requires_grad=True)  # cat, dog, car
    logs = node_log_probabilities(logits, TOY)
    log_2 = 0.6931472
    torch.testing.assert_close(logs.detach(), torch.tensor([[log_2 - 2000, 0.0, -2000.0, -2000.0, 0.0]]))
    logs[0, 0].backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[0.5, 0.5, -1.0]]))


@settings(deadline=None, max_examples=50)
@random_trees
def test_the_sibling_softmax_equals_one_softmax_for_each_family(taxonomy: Taxonomy, seed: int) -> None:
    logits = normal(2, taxonomy.num_nodes, seed=seed)
    expected = torch.empty_like(logits)
    for parent in {int(parent) for parent in taxonomy.parents}:
        family = [node for node in range(taxonomy.num_nodes) if taxonomy.parents[node] == parent]
        expected[:, family] = logits[:, family].log_softmax(dim=1)
    torch.testing.assert_close(sibling_log_softmax(logits, taxonomy), expected)


def test_families_of_very_different_size_keep_their_gradients() -> None:
    logits = torch.tensor([[0.0, 0.0, -900.0, -900.0, 900.0]], requires_grad=True)
    logs = sibling_log_softmax(logits, TOY)
    half = -0.6931472
    torch.testing.assert_close(logs.detach(), torch.tensor([[half, half, half, half, 0.0]]))
    logs[0, 2].backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[0.0, 0.0, 0.5, -0.5, 0.0]]))


@settings(deadline=None, max_examples=50)
@random_trees
def test_the_cascade_of_a_flat_softmax_gives_its_node_probabilities_back(taxonomy: Taxonomy, seed: int) -> None:
    logs = node_log_probabilities(normal(2, taxonomy.num_classes, seed=seed), taxonomy)
    torch.testing.assert_close(cascade_log_probabilities(logs, taxonomy), logs)


def test_logits_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected logits of shape \(B, 3\), got \(2, 5\)"):
        node_log_probabilities(torch.zeros(2, 5), TOY)
    with pytest.raises(ValueError, match=r"expected embeddings of shape \(B, 5\), got \(2, 3\)"):
        sibling_log_softmax(torch.zeros(2, 3), TOY)
