import math

import pytest
import torch

from hiercos.losses import CrossEntropyLoss

LOGITS = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]).log()


def test_the_loss_is_the_weighted_mean_of_the_negative_log_probabilities() -> None:
    loss, labels = CrossEntropyLoss(), torch.tensor([0, 2])
    assert float(loss(LOGITS, labels)) == pytest.approx(-(math.log(0.5) + math.log(0.8)) / 2)
    weighted = loss(LOGITS, labels, torch.tensor([3.0, 1.0]))
    assert float(weighted) == pytest.approx(-(3 * math.log(0.5) + math.log(0.8)) / 4)


@pytest.mark.parametrize("label", [-100, -1, 3])
def test_a_label_that_is_no_class_is_refused(label: int) -> None:
    with pytest.raises(IndexError):
        CrossEntropyLoss()(LOGITS, torch.tensor([0, label]))


def test_one_weight_for_the_whole_batch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected weights of shape \(2,\), got \(1,\)"):
        CrossEntropyLoss()(LOGITS, torch.tensor([0, 2]), torch.ones(1))


def test_the_loss_of_no_samples_is_nan() -> None:
    assert CrossEntropyLoss()(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)).isnan()
