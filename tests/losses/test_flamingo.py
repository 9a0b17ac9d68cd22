import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.losses.flamingo import FlamingoLoss
from losses.batches import padded_nodes, random_batch, sample_mean
from trees import TOY, taxonomies


def slow_flamingo(logits: Tensor, label: int, taxonomy: Taxonomy) -> float:
    """The cross-entropies of one sample, level by level."""
    leaf = int(taxonomy.leaves[label])
    loss, start = 0.0, 0
    for level, nodes in enumerate(padded_nodes(taxonomy), start=1):
        own = logits[start : start + len(nodes)].tolist()
        target = taxonomy.path(leaf)[min(level, len(taxonomy.path(leaf))) - 1]
        loss += math.log(sum(math.exp(value) for value in own)) - own[nodes.index(target)]
        start += len(nodes)
    return loss


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_loss_equals_a_loop_over_levels(taxonomy: Taxonomy, seed: int) -> None:
    columns = sum(len(nodes) for nodes in padded_nodes(taxonomy))
    logits, labels = random_batch(taxonomy, columns, seed=seed)
    expected = sample_mean(lambda row, label: slow_flamingo(row, label, taxonomy), logits, labels)
    torch.testing.assert_close(FlamingoLoss(taxonomy)(logits, labels), expected)


def test_the_loss_of_equal_logits_worked_by_hand() -> None:
    loss = FlamingoLoss(TOY)(torch.zeros(1, 5), torch.tensor([1]))
    assert float(loss) == pytest.approx(math.log(2) + math.log(3))
