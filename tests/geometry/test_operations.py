import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.geometry import class_path_sums, node_probabilities
from hiercos.geometry.operations import path_sums, sibling_sums, subtree_sums, tree_index
from trees import TOY, taxonomies


@settings(deadline=None, max_examples=50)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_sums_over_paths_subtrees_and_siblings_equal_loops(taxonomy: Taxonomy, seed: int) -> None:
    values = normal(2, taxonomy.num_nodes, seed=seed).square()
    index = tree_index(taxonomy, values.device)
    nodes = range(taxonomy.num_nodes)
    paths = {node: list(taxonomy.path(node)) for node in nodes}
    subtrees = {node: [other for other in nodes if node in paths[other]] for node in nodes}
    siblings = {
        node: [n for n in nodes if n != node and taxonomy.parents[n] == taxonomy.parents[node]] for node in nodes
    }
    for sums, members in ((path_sums, paths), (subtree_sums, subtrees), (sibling_sums, siblings)):
        expected = torch.stack([values[:, members[node]].sum(dim=1) for node in nodes], dim=1)
        torch.testing.assert_close(sums(values, index), expected)


@settings(deadline=None, max_examples=50)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_probability_of_a_node_is_that_of_the_classes_at_or_below_it(taxonomy: Taxonomy, seed: int) -> None:
    probabilities = normal(2, taxonomy.num_classes, seed=seed).softmax(dim=1)
    expected = torch.zeros(2, taxonomy.num_nodes, dtype=torch.float64)
    for label, leaf in enumerate(taxonomy.leaves):
        for node in taxonomy.path(int(leaf)):
            expected[:, node] += probabilities[:, label]
    torch.testing.assert_close(node_probabilities(probabilities, taxonomy), expected)


def test_node_probabilities_carry_gradients_to_the_classes() -> None:
    probabilities = normal(2, 3, seed=0).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: node_probabilities(p, TOY), probabilities)


def test_probabilities_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected probabilities of shape \(B, 3\), got \(2, 5\)"):
        node_probabilities(torch.zeros(2, 5), TOY)


@settings(deadline=None, max_examples=30)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_sum_of_a_class_is_that_of_the_nodes_on_its_path(taxonomy: Taxonomy, seed: int) -> None:
    values = normal(2, taxonomy.num_nodes, seed=seed)
    paths = [list(taxonomy.path(int(leaf))) for leaf in taxonomy.leaves]
    expected = torch.stack([values[:, path].sum(dim=1) for path in paths], dim=1)
    torch.testing.assert_close(class_path_sums(values, taxonomy), expected)


def test_values_of_another_width_have_no_path_sums() -> None:
    with pytest.raises(ValueError, match=r"of shape \(B, 5\), got \(2, 3\)"):
        class_path_sums(torch.zeros(2, 3), TOY)


def test_what_siblings_have_beside_a_large_value_is_kept() -> None:
    values = torch.tensor([[0.0, 0.0, 1.0, 1e-9, 0.0]])
    found = sibling_sums(values, tree_index(TOY, values.device))
    torch.testing.assert_close(found[0, 2], torch.tensor(1e-9, dtype=torch.float64), rtol=1e-6, atol=0)
