import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.losses import YOLOv2Loss
from losses.batches import random_node_batch, sample_mean
from trees import TOY, taxonomies


def slow_yolo(logits: Tensor, end: int, taxonomy: Taxonomy) -> float:
    """The loss of one sample: a softmax over the siblings of every node on the path."""
    loss = 0.0
    for node in taxonomy.path(end):
        siblings = [other for other in range(taxonomy.num_nodes) if taxonomy.parents[other] == taxonomy.parents[node]]
        total = sum(math.exp(float(logits[other])) for other in siblings)
        loss -= math.log(math.exp(float(logits[node])) / total)
    return loss / (taxonomy.num_nodes + 1)


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_loss_equals_a_loop_over_the_families_of_each_path(taxonomy: Taxonomy, seed: int) -> None:
    logits, labels, nodes = random_node_batch(taxonomy, taxonomy.num_nodes, seed=seed)
    expected = sample_mean(lambda row, node: slow_yolo(row, node, taxonomy), logits, nodes)
    torch.testing.assert_close(YOLOv2Loss(taxonomy)(logits, labels), expected)


def test_the_loss_of_equal_logits_worked_by_hand() -> None:
    # pet against vehicle, cat against dog, and six nodes with the root; the car is an only child
    loss = YOLOv2Loss(TOY)
    assert float(loss(torch.zeros(1, 5), torch.tensor([0]))) == pytest.approx(2 * math.log(2) / 6)
    assert float(loss(torch.zeros(1, 5), torch.tensor([2]))) == pytest.approx(math.log(2) / 6)


def test_the_loss_never_moves_families_off_the_path() -> None:
    logits = torch.randn(1, 5, requires_grad=True)
    YOLOv2Loss(TOY)(logits, torch.tensor([2])).backward()
    assert logits.grad[0, 2:].tolist() == [0, 0, 0]
