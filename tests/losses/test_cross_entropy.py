import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.losses import CrossEntropyLoss
from losses.batches import random_node_batch, sample_mean
from trees import TOY, ancestor_sets, taxonomies

LOGITS = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]).log()


def test_the_loss_is_the_weighted_mean_of_the_negative_log_probabilities() -> None:
    loss, labels = CrossEntropyLoss(), torch.tensor([0, 2])
    assert float(loss(LOGITS, labels)) == pytest.approx(-(math.log(0.5) + math.log(0.8)) / 2)
    weighted = loss(LOGITS, labels, torch.tensor([3.0, 1.0]))
    assert float(weighted) == pytest.approx(-(3 * math.log(0.5) + math.log(0.8)) / 4)


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_an_inner_node_has_the_summed_probability_of_its_classes(taxonomy: Taxonomy, seed: int) -> None:
    logits, labels, nodes = random_node_batch(taxonomy, taxonomy.num_classes, seed=seed)
    above = ancestor_sets(taxonomy)

    def slow(row: torch.Tensor, node: int) -> torch.Tensor:
        return -row.softmax(dim=0)[[node in above[leaf] for leaf in taxonomy.leaves]].sum().log()

    expected = sample_mean(slow, logits, nodes)
    torch.testing.assert_close(CrossEntropyLoss(taxonomy)(logits, labels), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("label", [-100, -1, 3])
def test_a_label_that_is_no_class_is_refused(label: int) -> None:
    with pytest.raises(IndexError):
        CrossEntropyLoss()(LOGITS, torch.tensor([0, label]))


def test_a_label_beyond_the_nodes_is_refused() -> None:
    with pytest.raises(IndexError, match="expected labels from 0 to 7, got 8"):
        CrossEntropyLoss(TOY)(LOGITS, torch.tensor([0, 8]))


def test_one_weight_for_the_whole_batch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected weights of shape \(2,\), got \(1,\)"):
        CrossEntropyLoss()(LOGITS, torch.tensor([0, 2]), torch.ones(1))


def test_the_loss_of_no_samples_is_nan() -> None:
    assert CrossEntropyLoss()(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)).isnan()
