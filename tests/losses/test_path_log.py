import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from hiercos import Taxonomy
from hiercos.losses import PathLogLoss
from losses.batches import random_batch, random_node_batch, sample_mean
from trees import TOY, taxonomies


def slow_path_log(logits: Tensor, node: int, taxonomy: Taxonomy, inner: float = 1.0) -> float:
    """The loss of one sample: for each level, the shares of the classes that the label allows there are summed.

    They are those below the label's ancestor at that level, or below the label itself where it ends above it.
    """
    exponentials = [math.exp(value) for value in logits.tolist()]
    paths = [taxonomy.path(int(leaf)) for leaf in taxonomy.leaves]
    own, loss = taxonomy.path(node), 0.0
    for level in range(taxonomy.height):
        known = own[min(level, len(own) - 1)]
        alike = sum(share for share, path in zip(exponentials, paths, strict=True) if known in path)
        loss -= (1.0 if level == taxonomy.height - 1 else inner) * math.log(alike / sum(exponentials))
    return loss


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), inner=st.sampled_from([0.0, 0.3, 1.0, 2.0]))
def test_the_loss_equals_a_loop_over_the_nodes_of_each_path(taxonomy: Taxonomy, seed: int, inner: float) -> None:
    logits, labels, nodes = random_node_batch(taxonomy, taxonomy.num_classes, seed=seed)
    expected = sample_mean(lambda row, node: slow_path_log(row, node, taxonomy, inner), logits, nodes)
    torch.testing.assert_close(PathLogLoss(taxonomy, inner)(logits, labels), expected, rtol=1e-6, atol=1e-9)


def test_without_inner_terms_the_loss_is_cross_entropy_on_any_tree() -> None:
    logits, labels = random_batch(TOY, 3, seed=2)
    torch.testing.assert_close(PathLogLoss(TOY, inner=0)(logits, labels), F.cross_entropy(logits, labels))


def test_a_class_above_the_deepest_level_has_a_term_for_every_level() -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("car",)])
    logits = torch.tensor([[0.2, 0.2, 0.6]]).log()
    found = [float(PathLogLoss(taxonomy)(logits, torch.tensor([label]))) for label in (0, 2)]
    assert found == pytest.approx([-math.log(0.4) - math.log(0.2), -2 * math.log(0.6)])


@settings(deadline=None, max_examples=20)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), inner=st.sampled_from([0.2, 1.0, 3.0]))
def test_the_expected_loss_is_least_at_the_true_probabilities(taxonomy: Taxonomy, seed: int, inner: float) -> None:
    true, other, *_ = random_batch(taxonomy, taxonomy.num_classes, seed=seed)[0].softmax(dim=1)
    labels = torch.arange(taxonomy.num_classes)

    def expected(probabilities: Tensor) -> float:
        logits = probabilities.log().expand(taxonomy.num_classes, -1)
        return float(PathLogLoss(taxonomy, inner)(logits, labels, true) * true.sum())

    assert expected(true) <= expected(other) + 1e-9
    assert expected(true) <= expected(0.9 * true + 0.1 * other) + 1e-9


def test_on_one_level_the_loss_is_cross_entropy() -> None:
    flat = Taxonomy.from_paths([("a",), ("b",), ("c",)])
    logits, labels = random_batch(flat, 3, seed=1)
    torch.testing.assert_close(PathLogLoss(flat)(logits, labels), F.cross_entropy(logits, labels))


def test_labels_and_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(IndexError, match="expected labels from 0 to 7, got -1"):
        PathLogLoss(TOY)(torch.zeros(1, 3), torch.tensor([-1]))
    with pytest.raises(ValueError, match="at least 0, got -1"):
        PathLogLoss(TOY, inner=-1)
    with pytest.raises(ValueError, match="expected weights of shape"):
        PathLogLoss(TOY)(torch.zeros(2, 3), torch.tensor([0, 1]), torch.ones(1))
