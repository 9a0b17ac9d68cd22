import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from hiercos import Taxonomy
from hiercos.losses import HACELoss
from losses.batches import random_batch, random_node_batch, sample_mean
from trees import TOY, taxonomies


def slow_hace(logits: Tensor, node: int, taxonomy: Taxonomy, dilution: float) -> float:
    """The loss of one sample: the target starts at the label, and every node passes a share up to its parent."""
    exponentials = [math.exp(value) for value in logits.tolist()]
    paths = [taxonomy.path(int(leaf)) for leaf in taxonomy.leaves]
    target, loss = 1.0, 0.0
    while node >= 0:
        kept, target = (1 - dilution) * target, dilution * target
        below = sum(share for share, path in zip(exponentials, paths, strict=True) if node in path)
        loss -= kept * math.log(below / sum(exponentials))
        node = int(taxonomy.parents[node])
    return loss


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), dilution=st.sampled_from([0.0, 0.2, 0.5, 0.7]))
def test_the_loss_equals_a_walk_up_from_the_label(taxonomy: Taxonomy, seed: int, dilution: float) -> None:
    logits, labels, nodes = random_node_batch(taxonomy, taxonomy.num_classes, seed=seed)
    expected = sample_mean(lambda row, node: slow_hace(row, node, taxonomy, dilution), logits, nodes)
    torch.testing.assert_close(HACELoss(taxonomy, dilution)(logits, labels), expected, rtol=1e-6, atol=1e-9)


def test_without_dilution_the_loss_is_cross_entropy() -> None:
    logits, labels = random_batch(TOY, 3, seed=2)
    torch.testing.assert_close(HACELoss(TOY, dilution=0)(logits, labels), F.cross_entropy(logits, labels))


def test_the_loss_worked_by_hand() -> None:
    logits = torch.tensor([[0.2, 0.2, 0.6]]).log()  # cat, dog, car
    found = [float(HACELoss(TOY, 0.2)(logits, torch.tensor([label]))) for label in (0, 2)]
    cat, car = -0.8 * math.log(0.2) - 0.16 * math.log(0.4), -0.96 * math.log(0.6)
    assert found == pytest.approx([cat, car])


@pytest.mark.parametrize("dilution", [-0.1, 1.0, math.nan])
def test_a_dilution_outside_its_range_is_refused(dilution: float) -> None:
    with pytest.raises(ValueError, match=f"expected a dilution from 0 to below 1, got {dilution}"):
        HACELoss(TOY, dilution)
