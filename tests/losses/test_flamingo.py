import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.losses.flamingo import FlamingoLoss
from losses.batches import padded_nodes, random_node_batch, sample_mean
from trees import TOY, ancestor_sets, taxonomies


def slow_flamingo(logits: Tensor, node: int, taxonomy: Taxonomy) -> float:
    """The cross-entropies of one sample, level by level; below an inner node, of all columns below it."""
    above, loss, start = ancestor_sets(taxonomy), 0.0, 0
    for level, nodes in enumerate(padded_nodes(taxonomy), start=1):
        own = logits[start : start + len(nodes)].tolist()
        path = taxonomy.path(node)
        target = path[min(level, len(path)) - 1]
        allowed = [math.exp(value) for value, other in zip(own, nodes, strict=True) if target in above[other]]
        loss += math.log(sum(math.exp(value) for value in own)) - math.log(sum(allowed))
        start += len(nodes)
    return loss


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_loss_equals_a_loop_over_levels(taxonomy: Taxonomy, seed: int) -> None:
    columns = sum(len(nodes) for nodes in padded_nodes(taxonomy))
    logits, labels, nodes = random_node_batch(taxonomy, columns, seed=seed)
    for some in (slice(None), slice(3)):  # with inner nodes, and classes alone
        expected = sample_mean(lambda row, node: slow_flamingo(row, node, taxonomy), logits[some], nodes[some])
        torch.testing.assert_close(FlamingoLoss(taxonomy)(logits[some], labels[some]), expected)


def test_the_loss_of_equal_logits_worked_by_hand() -> None:
    loss = FlamingoLoss(TOY)(torch.zeros(1, 5), torch.tensor([1]))
    assert float(loss) == pytest.approx(math.log(2) + math.log(3))
