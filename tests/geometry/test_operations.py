import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.geometry import class_path_sums, node_probabilities, tree_operations
from trees import TOY, ancestor_sets, descendant_sets, taxonomies

CPU = torch.device("cpu")
random_trees = given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))


@settings(deadline=None, max_examples=50)
@random_trees
def test_sums_maxima_and_log_sums_equal_those_over_sets_of_relatives(taxonomy: Taxonomy, seed: int) -> None:
    values, operations = normal(2, taxonomy.num_nodes, seed=seed), tree_operations(taxonomy, CPU)
    ancestors, descendants = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    for operation, relatives, combine in (
        (operations.ancestor_sums, ancestors, torch.sum),
        (operations.descendant_sums, descendants, torch.sum),
        (operations.descendant_maxima, descendants, torch.amax),
        (operations.descendant_logsumexp, descendants, torch.logsumexp),
    ):
        expected = [combine(values[:, sorted(relatives[node])], dim=1) for node in range(taxonomy.num_nodes)]
        torch.testing.assert_close(operation(values), torch.stack(expected, dim=1))


@settings(deadline=None, max_examples=50)
@random_trees
def test_unrelated_nodes_are_neither_ancestors_nor_descendants(taxonomy: Taxonomy, seed: int) -> None:
    values = normal(2, taxonomy.num_nodes, seed=seed).square()
    ancestors, descendants = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    every = set(range(taxonomy.num_nodes))
    others = [sorted(every - ancestors[node] - descendants[node]) for node in range(taxonomy.num_nodes)]
    expected = torch.stack([values[:, other].sum(dim=1) for other in others], dim=1)
    torch.testing.assert_close(tree_operations(taxonomy, CPU).unrelated_sums(values), expected)


@settings(deadline=None, max_examples=30)
@random_trees
def test_values_of_classes_stand_at_their_leaves(taxonomy: Taxonomy, seed: int) -> None:
    values, operations = normal(2, taxonomy.num_classes, seed=seed), tree_operations(taxonomy, CPU)
    nodes = operations.node_values(values, empty=-7.0)
    assert torch.equal(operations.class_values(nodes), values)
    inner = sorted(set(range(taxonomy.num_nodes)) - set(taxonomy.leaves.tolist()))
    assert (nodes[:, inner] == -7).all()


def test_the_log_sum_of_nothing_is_minus_infinity() -> None:
    infinity = torch.inf
    values = torch.tensor([[-infinity, -infinity, -infinity, -infinity, 2.0]])  # pet, vehicle, cat, dog, car
    logs = tree_operations(TOY, CPU).descendant_logsumexp(values)
    assert logs.tolist() == [[-infinity, 2.0, -infinity, -infinity, 2.0]]


@settings(deadline=None, max_examples=50)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_probability_of_a_node_is_that_of_the_classes_at_or_below_it(taxonomy: Taxonomy, seed: int) -> None:
    probabilities = normal(2, taxonomy.num_classes, seed=seed).softmax(dim=1)
    expected = torch.zeros(2, taxonomy.num_nodes, dtype=torch.float64)
    for label, leaf in enumerate(taxonomy.leaves):
        for node in taxonomy.path(int(leaf)):
            expected[:, node] += probabilities[:, label]
    torch.testing.assert_close(node_probabilities(probabilities, taxonomy), expected)


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


def test_what_unrelated_nodes_have_beside_a_large_value_is_kept() -> None:
    values = torch.tensor([[0.0, 0.0, 1.0, 1e-9, 0.0]])
    found = tree_operations(TOY, CPU).unrelated_sums(values)
    torch.testing.assert_close(found[0, 2], torch.tensor(1e-9, dtype=torch.float64), rtol=1e-6, atol=0)
