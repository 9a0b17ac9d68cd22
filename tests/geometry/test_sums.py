import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.geometry import node_probabilities
from hiercos.geometry.index import tree_index
from hiercos.geometry.sums import path_sums, sibling_sums, subtree_sums
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
