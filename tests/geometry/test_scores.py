from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.published import NAMES, PublishedRun
from geometry.spans import normal, projections
from hiercos import Taxonomy
from hiercos.geometry import leaf_scores, level_scores, node_scores
from trees import TOY, TOY17, taxonomies

SWITCHES = list(product((True, False), repeat=2))
seeds = st.integers(0, 2**16)


def projected(z: Tensor, taxonomy: Taxonomy, **switches: bool) -> Tensor:
    """Every embedding projected onto every subspace by its dense matrix, shape (B, N, N)."""
    return torch.einsum("vij,bj->bvi", projections(taxonomy, **switches), z)


@pytest.mark.parametrize(("ancestors", "descendants"), SWITCHES)
@settings(deadline=None, max_examples=30)
@given(taxonomy=taxonomies(), seed=seeds)
def test_node_scores_are_lengths_of_dense_projections(
    taxonomy: Taxonomy, seed: int, ancestors: bool, descendants: bool
) -> None:
    z = normal(3, taxonomy.num_nodes, seed=seed)
    switches = {"ancestors": ancestors, "descendants": descendants}
    expected = projected(z, taxonomy, **switches).norm(dim=2)
    torch.testing.assert_close(node_scores(z, taxonomy, **switches), expected)
    torch.testing.assert_close(node_scores(z, taxonomy, squared=True, **switches), expected.square())
    for level in range(1, taxonomy.height + 1):
        columns = taxonomy.level(level)
        torch.testing.assert_close(level_scores(z, taxonomy, level, **switches), expected[:, columns])
        squared = level_scores(z, taxonomy, level, squared=True, **switches)
        torch.testing.assert_close(squared, expected[:, columns].square())


@pytest.mark.parametrize("ancestors", [True, False])
@settings(deadline=None, max_examples=30)
@given(taxonomy=taxonomies(), seed=seeds)
def test_leaf_scores_are_lengths_of_dense_projections_in_class_order(
    taxonomy: Taxonomy, seed: int, ancestors: bool
) -> None:
    z = normal(3, taxonomy.num_nodes, seed=seed)
    expected = projected(z, taxonomy, ancestors=ancestors).norm(dim=2)[:, taxonomy.leaves.tolist()]
    torch.testing.assert_close(leaf_scores(z, taxonomy, ancestors=ancestors), expected)
    torch.testing.assert_close(leaf_scores(z, taxonomy, ancestors=ancestors, squared=True), expected.square())


def test_scores_of_a_vector_worked_by_hand() -> None:
    z = torch.tensor([[3.0, 1.0, 4.0, 0.0, 2.0]])  # pet, vehicle, cat, dog, car
    assert leaf_scores(z, TOY).tolist() == [[5.0, 3.0, pytest.approx(5**0.5)]]
    assert level_scores(z, TOY, 1, squared=True).tolist() == [[25.0, 5.0]]
    assert leaf_scores(z, TOY, ancestors=False).tolist() == [[4.0, 0.0, 2.0]]


@pytest.mark.parametrize("score", [leaf_scores, node_scores])
def test_a_score_without_energy_is_zero_with_gradient_zero(score) -> None:
    z = torch.zeros(2, TOY17.num_nodes)
    z[1, 0] = 1.0  # energy in one place, none in the subspaces elsewhere
    z.requires_grad_()
    scores = score(z, TOY17)
    scores.sum().backward()
    assert scores[0].tolist() == [0.0] * scores.shape[1]
    assert z.grad is not None
    assert z.grad[0].tolist() == [0.0] * TOY17.num_nodes
    assert z.grad.isfinite().all()


def test_a_nan_coordinate_shows_in_the_scores_it_enters() -> None:
    z = torch.tensor([[torch.nan, 0.0, 0.0, 0.0, 0.0]])
    assert leaf_scores(z, TOY).isnan().tolist() == [[True, True, False]]


def test_half_precision_embeddings_are_summed_in_single_precision() -> None:
    z = torch.full((1, TOY.num_nodes), 300.0, dtype=torch.float16)  # its square is beyond float16
    assert leaf_scores(z, TOY, squared=True).tolist() == [[180000.0] * 3]
    assert leaf_scores(z.bfloat16(), TOY).dtype == torch.float32


@pytest.mark.parametrize("score", [leaf_scores, node_scores])
@pytest.mark.parametrize("shape", [(2, 4), (5,), (1, 2, 5)])
def test_embeddings_of_another_shape_are_refused(score, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected embeddings of shape \(B, 5\), got \("):
        score(torch.zeros(shape), TOY)


def test_a_level_that_the_tree_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a level from 1 to 2, got 3"):
        level_scores(torch.zeros(1, 5), TOY, 3)


def test_a_chain_of_ten_thousand_nodes_has_scores_and_gradients() -> None:
    chain = Taxonomy.from_arrays([str(node) for node in range(10_000)], range(-1, 9_999))
    z = torch.ones(1, 10_000, requires_grad=True)
    scores = leaf_scores(z, chain)
    scores.sum().backward()
    assert scores.tolist() == [[100.0]]
    assert z.grad is not None
    torch.testing.assert_close(z.grad, torch.full((1, 10_000), 0.01))


@pytest.mark.parametrize("name", NAMES)
def test_leaf_scores_and_level_choices_equal_those_of_the_published_code(name: str) -> None:
    run = PublishedRun(name)
    z, taxonomy = run.by_node("x"), run.taxonomy
    torch.testing.assert_close(leaf_scores(z, taxonomy), run.value("leaf_scores"))
    for level, expected in enumerate(run.level_nodes(), 1):
        start = taxonomy.level(level).start
        chosen = level_scores(z, taxonomy, level).argmax(dim=1) + start
        assert [taxonomy.names[node] for node in chosen.tolist()] == expected
