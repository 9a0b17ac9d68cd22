import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from hiercos import Taxonomy
from hiercos.losses.hxe import HXELoss, level_weights
from losses.batches import random_batch, random_node_batch, sample_mean
from trees import TOY, TOY17, shared, taxonomies


def slow_hxe(logits: Tensor, node: int, taxonomy: Taxonomy, alpha: float) -> float:
    """The loss of one sample: explicit probabilities of the nodes, one step of the path after the other."""
    exponentials = [math.exp(value) for value in logits.tolist()]
    nodes = [0.0] * taxonomy.num_nodes
    for other, leaf in enumerate(taxonomy.leaves):
        for above_leaf in taxonomy.path(int(leaf)):
            nodes[above_leaf] += exponentials[other] / sum(exponentials)
    total = 1 + sum(math.exp(-alpha * len(taxonomy.path(other))) for other in range(taxonomy.num_nodes))
    loss, above = 0.0, 1.0
    for level, step in enumerate(taxonomy.path(node), start=1):
        loss -= math.exp(-alpha * level) / total * math.log(nodes[step] / above)
        above = nodes[step]
    return loss


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), alpha=st.sampled_from([0.0, 0.1, 0.6]))
def test_the_loss_equals_a_loop_over_the_steps_of_each_path(taxonomy: Taxonomy, seed: int, alpha: float) -> None:
    logits, labels, nodes = random_node_batch(taxonomy, taxonomy.num_classes, seed=seed)
    expected = sample_mean(lambda row, node: slow_hxe(row, node, taxonomy, alpha), logits, nodes)
    torch.testing.assert_close(HXELoss(taxonomy, alpha)(logits, labels), expected, rtol=1e-6, atol=1e-9)


def test_the_loss_of_equal_logits_worked_by_hand() -> None:
    # p(pet) = 2/3, p(cat | pet) = 1/2; T = 1 + 2 exp(-1) + 3 exp(-2)
    total = 1 + 2 * math.exp(-1) + 3 * math.exp(-2)
    expected = (math.exp(-1) * math.log(3 / 2) + math.exp(-2) * math.log(2)) / total
    assert float(HXELoss(TOY, alpha=1.0)(torch.zeros(1, 3), torch.tensor([0]))) == pytest.approx(expected)


def test_alpha_zero_is_cross_entropy_over_the_number_of_nodes_and_the_root() -> None:
    logits, labels = random_batch(TOY17, 17, seed=1)
    expected = F.cross_entropy(logits, labels) / (TOY17.num_nodes + 1)
    torch.testing.assert_close(HXELoss(TOY17, alpha=0.0)(logits, labels), expected)


def test_the_weights_of_fgvc_aircraft_are_the_published_ones() -> None:
    taxonomy = Taxonomy.read(shared("hierarchies", "fgvc_aircraft.csv"))
    weights = level_weights(taxonomy, 0.1)
    assert [round(math.exp(-0.1 * level) / weight, 2) for level, weight in enumerate(weights, 1)] == [159.54] * 3


def test_a_wide_margin_keeps_value_and_gradient_finite() -> None:
    logits = torch.tensor([[0.0, 0.0, 5000.0]], requires_grad=True)
    loss = HXELoss(TOY)(logits, torch.tensor([0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_a_label_that_is_neither_class_nor_node_is_refused() -> None:
    with pytest.raises(IndexError, match="expected labels from 0 to 7, got 8"):
        HXELoss(TOY)(torch.zeros(1, 3), torch.tensor([8]))
