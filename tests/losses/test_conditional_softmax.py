import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.losses import ConditionalSoftmaxLoss, YOLOv2Loss
from losses.batches import random_node_batch, sample_mean
from trees import TOY, ancestor_sets, taxonomies


def slow_conditional(logits: Tensor, end: int, taxonomy: Taxonomy, tau: float, seen: list[int]) -> float:
    """The loss of one sample: at each node of the path, a softmax over siblings with the training shares added."""
    above = ancestor_sets(taxonomy)
    counts = [max(1, sum(node in above[label] for label in seen)) for node in range(taxonomy.num_nodes)]
    loss = 0.0
    for node in taxonomy.path(end):
        siblings = [other for other in range(taxonomy.num_nodes) if taxonomy.parents[other] == taxonomy.parents[node]]
        total = sum(counts[other] for other in siblings)
        shares = {other: math.exp(float(logits[other])) * (counts[other] / total) ** tau for other in siblings}
        loss -= math.log(shares[node] / sum(shares.values()))
    return loss


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), tau=st.sampled_from([0.0, 0.5, 1.0]))
def test_the_loss_equals_a_loop_over_the_families_of_each_path(taxonomy: Taxonomy, seed: int, tau: float) -> None:
    logits, labels, nodes = random_node_batch(taxonomy, taxonomy.num_nodes, seed=seed)
    loss = ConditionalSoftmaxLoss(taxonomy, tau).double()
    loss.prepare(labels)
    expected = sample_mean(lambda row, node: slow_conditional(row, node, taxonomy, tau, nodes.tolist()), logits, nodes)
    torch.testing.assert_close(loss(logits, labels), expected)


def test_without_adjustment_the_loss_is_that_of_yolo_v2_times_the_number_of_nodes_and_the_root() -> None:
    logits, labels, _ = random_node_batch(TOY, 5, seed=1)
    plain = ConditionalSoftmaxLoss(TOY, tau=0)
    plain.prepare(labels)
    torch.testing.assert_close(plain(logits, labels), 6 * YOLOv2Loss(TOY)(logits, labels))
    torch.testing.assert_close(ConditionalSoftmaxLoss(TOY)(logits, labels), 6 * YOLOv2Loss(TOY)(logits, labels))


def test_equal_logits_cost_the_log_of_the_training_share() -> None:
    loss = ConditionalSoftmaxLoss(TOY)
    loss.prepare(torch.tensor([0, 0, 0, 1]))  # no car: its family counts as one sample
    found = [float(loss(torch.zeros(1, 5), torch.tensor([label]))) for label in (0, 1, 2)]
    assert found == pytest.approx([-math.log(4 / 5 * 3 / 4), -math.log(4 / 5 * 1 / 4), -math.log(1 / 5)])


def test_a_label_of_weight_two_counts_like_two() -> None:
    labels, weights = torch.tensor([0, 1, 2, 1]), torch.tensor([2.0, 1.0, 1.0, 1.0])
    weighted, repeated = ConditionalSoftmaxLoss(TOY), ConditionalSoftmaxLoss(TOY)
    weighted.prepare(labels, weights)
    repeated.prepare(torch.tensor([0, 0, 1, 2, 1]))
    torch.testing.assert_close(weighted.adjustment, repeated.adjustment)


def test_a_negative_strength_is_refused() -> None:
    with pytest.raises(ValueError, match="expected tau of at least 0, got -1"):
        ConditionalSoftmaxLoss(TOY, tau=-1)
