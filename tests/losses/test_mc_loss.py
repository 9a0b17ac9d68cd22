import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.losses import MCLoss
from hiercos.taxonomy import nodes_of_labels
from trees import TOY, ancestor_sets, descendant_sets, graphs


def slow_loss(logits: Tensor, labels: list[int], taxonomy: Taxonomy) -> float:
    """MCLoss of one sample as the paper prints it, from sets; nodes strictly below a label are left out."""
    above, below = ancestor_sets(taxonomy), descendant_sets(taxonomy)
    right = set().union(*(above[node] for node in labels))
    unknown = set().union(*(below[node] for node in labels)) - right
    h = logits.double().sigmoid().tolist()
    terms = [
        -math.log(max(h[u] for u in below[v] & right)) if v in right else -math.log(1 - max(h[u] for u in below[v]))
        for v in range(taxonomy.num_nodes)
        if v not in unknown
    ]
    return sum(terms) / len(terms)


@settings(deadline=None)
@given(st.data(), st.integers(0, 1000))
def test_the_loss_is_the_printed_one_on_any_graph(data: st.DataObject, seed: int) -> None:
    taxonomy = data.draw(graphs())
    node = st.integers(0, taxonomy.num_nodes - 1)
    sets = [data.draw(st.lists(node, min_size=2, max_size=2)) for _ in range(3)]
    logits = normal(3, taxonomy.num_nodes, seed=seed).mul(2)
    expected = sum(slow_loss(row, own, taxonomy) for row, own in zip(logits, sets, strict=True)) / 3
    assert float(MCLoss(taxonomy)(logits, torch.tensor(sets))) == pytest.approx(expected, rel=1e-6)


@settings(deadline=None, max_examples=30)
@given(graphs(), st.integers(0, 1000))
def test_one_label_is_a_set_of_one_node(taxonomy: Taxonomy, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, taxonomy.num_classes + taxonomy.num_nodes, (5,), generator=generator)
    logits, loss = normal(5, taxonomy.num_nodes, seed=seed), MCLoss(taxonomy)
    nodes = torch.tensor(nodes_of_labels(labels.numpy(), taxonomy))
    sets = torch.stack([nodes, torch.full_like(nodes, -1)], dim=1)
    assert torch.equal(loss(logits, labels), loss(logits, sets))


def test_a_wrong_class_below_a_right_node_is_not_raised() -> None:
    logits = torch.tensor([[0.0, 0.0, -1.0, 2.0, 0.0]], requires_grad=True)  # pet, vehicle, cat, dog, car
    MCLoss(TOY)(logits, torch.tensor([0])).backward()  # a cat; the dog scores highest among the pets
    assert logits.grad is not None
    assert logits.grad[0, 3] > 0  # gradient descent lowers the dog
    assert logits.grad[0, 2] < 0
    assert logits.grad[0, 0] < 0


def test_a_sample_without_labels_costs_nothing() -> None:
    assert float(MCLoss(TOY)(torch.randn(1, 5), torch.tensor([[-1, -1]]))) == 0


def test_logits_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected logits of shape \(B, 5\), got \(2, 3\)"):
        MCLoss(TOY)(torch.zeros(2, 3), torch.tensor([0, 1]))
