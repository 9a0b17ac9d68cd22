import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.geometry.frames import class_frame, decaying_similarities
from hiercos.losses.haframe import HAFrameLoss
from losses.batches import random_batch, sample_mean
from trees import taxonomies


def slow_haframe(f: Tensor, label: int, frame: Tensor, similarities: Tensor, alpha: float) -> float:
    """The loss of one sample with its feature f, class by class."""
    length = math.sqrt(sum(value * value for value in f.tolist()))
    products = [sum(a * b for a, b in zip(f.tolist(), row.tolist(), strict=True)) for row in frame]
    misfit = sum((products[c] / length - float(similarities[label, c])) ** 2 for c in range(len(frame)))
    cross_entropy = math.log(sum(math.exp(product) for product in products)) - products[label]
    return (1.0 if alpha > 1 else 1 - alpha) * cross_entropy + alpha * misfit


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), alpha=st.sampled_from([0.0, 0.4, 1.0, 2.0]))
def test_the_loss_equals_a_loop_over_the_classes(taxonomy: Taxonomy, seed: int, alpha: float) -> None:
    similarities = torch.tensor(decaying_similarities(taxonomy, 2.0))
    frame = class_frame(similarities.numpy()).double()
    f, labels = random_batch(taxonomy, taxonomy.num_classes, seed=seed)
    expected = sample_mean(lambda row, label: slow_haframe(row, label, frame, similarities, alpha), f, labels)
    outputs = torch.cat([f @ frame.T, f.norm(dim=1, keepdim=True)], dim=1)
    torch.testing.assert_close(HAFrameLoss(similarities, alpha)(outputs, labels), expected)


def test_cosines_off_the_prescribed_ones_worked_by_hand() -> None:
    # f = (3, 4) on the frame of the axes: cosines .6 and .8 where 1 and 0 are asked for
    outputs = torch.tensor([[3.0, 4.0, 5.0]])
    loss = HAFrameLoss(torch.eye(2), alpha=1.0)(outputs, torch.tensor([0]))
    assert float(loss) == pytest.approx(0.4**2 + 0.8**2)


def test_a_feature_without_length_has_a_finite_loss() -> None:
    outputs = torch.zeros(1, 3, requires_grad=True)
    loss = HAFrameLoss(torch.eye(2), alpha=0.5)(outputs, torch.tensor([0]))
    assert float(loss.detach()) == pytest.approx(0.5 * math.log(2) + 0.5)
