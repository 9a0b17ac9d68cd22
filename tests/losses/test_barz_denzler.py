import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.losses.barz_denzler import BarzDenzlerLoss
from losses.batches import random_batch, sample_mean
from trees import taxonomies


def slow_barz_denzler(f: Tensor, label: int, embeddings: Tensor) -> float:
    """The loss of one sample, straight from the formula."""
    own = embeddings[label].tolist()
    product = sum(a * b for a, b in zip(f.tolist(), own, strict=True))
    lengths = math.sqrt(sum(a * a for a in f.tolist())) * math.sqrt(sum(b * b for b in own))
    cross_entropy = math.log(sum(math.exp(a) for a in f.tolist())) - float(f[label])
    return 1 - product / lengths + 0.1 * cross_entropy


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_loss_equals_a_loop_over_the_samples(taxonomy: Taxonomy, seed: int) -> None:
    embeddings = normal(taxonomy.num_classes, taxonomy.num_classes, seed=seed + 1)
    f, labels = random_batch(taxonomy, taxonomy.num_classes, seed=seed)
    expected = sample_mean(lambda row, label: slow_barz_denzler(row, label, embeddings), f, labels)
    torch.testing.assert_close(BarzDenzlerLoss(embeddings)(f, labels), expected)


def test_a_right_angle_worked_by_hand() -> None:
    # cosine 0, and cross-entropy of (0, 2) against the first class: log(1 + e^2)
    loss = BarzDenzlerLoss(torch.eye(2))(torch.tensor([[0.0, 2.0]]), torch.tensor([0]))
    assert float(loss) == pytest.approx(1 + 0.1 * math.log(1 + math.exp(2)))
