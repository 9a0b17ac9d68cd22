import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.losses.soft_labels import SoftLabelsLoss, soft_targets
from losses.batches import random_batch, sample_mean
from trees import TOY, TOY17, taxonomies


def slow_soft_labels(logits: Tensor, label: int, taxonomy: Taxonomy, beta: float) -> float:
    """The loss of one sample, straight from the formula."""
    distances = taxonomy.distance_matrix()
    largest = max(int(distances.max()), 1)
    raw = [math.exp(-beta * int(distance) / largest) for distance in distances[label]]
    exponentials = [math.exp(value) for value in logits.tolist()]
    divergence = 0.0
    for own, exponential in zip(raw, exponentials, strict=True):
        q, p = own / sum(raw), exponential / sum(exponentials)
        divergence += q * math.log(q / p)
    return divergence / taxonomy.num_classes


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), beta=st.sampled_from([4.0, 30.0]))
def test_the_loss_equals_a_loop_over_the_classes(taxonomy: Taxonomy, seed: int, beta: float) -> None:
    logits, labels = random_batch(taxonomy, taxonomy.num_classes, seed=seed)
    expected = sample_mean(lambda row, label: slow_soft_labels(row, label, taxonomy, beta), logits, labels)
    torch.testing.assert_close(SoftLabelsLoss(taxonomy, beta)(logits, labels), expected, rtol=1e-5, atol=1e-6)


def test_targets_worked_by_hand() -> None:
    # distances of cat: 0 to itself, 1 to the dog, 2 to the car
    total = 1 + math.exp(-1) + math.exp(-2)
    assert soft_targets(TOY, 2.0)[0].tolist() == pytest.approx([1 / total, math.exp(-1) / total, math.exp(-2) / total])


def test_the_loss_is_zero_where_the_softmax_is_the_target() -> None:
    logits = soft_targets(TOY17, 4.0).log()
    assert float(SoftLabelsLoss(TOY17, 4.0)(logits, torch.arange(17))) == pytest.approx(0, abs=1e-7)
