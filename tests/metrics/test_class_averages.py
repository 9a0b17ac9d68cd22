"""Macro accuracy and log loss against slow loops over classes and samples."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.metrics import MetricSuite
from hiercos.metrics import functional as HF
from trees import TOY, taxonomies


def slow_macro_accuracy(scores: Tensor, labels: Tensor) -> float:
    """The mean over the classes with samples of the share of them whose best class, the first of equals, is right."""
    shares = []
    for label in set(labels.tolist()):
        rows = [row for row in range(len(labels)) if labels[row] == label]
        best = [scores[row].tolist().index(max(scores[row].tolist())) for row in rows]
        shares.append(sum(answer == label for answer in best) / len(rows))
    return sum(shares) / len(shares)


@given(taxonomy=taxonomies(), seed=st.integers(0, 999), rows=st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_macro_accuracy_equals_a_loop_over_classes_in_any_batches(taxonomy: Taxonomy, seed: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 3, (rows, taxonomy.num_classes), generator=generator).float()  # with ties
    labels = torch.randint(taxonomy.num_classes, (rows,), generator=generator)
    expected = slow_macro_accuracy(scores, labels)
    assert HF.macro_accuracy(scores, labels, taxonomy).item() == pytest.approx(expected)
    suite = MetricSuite(taxonomy)
    for part in torch.arange(rows).split(7):
        suite.update(scores[part], labels[part])
    assert suite.compute()["macro_accuracy"].item() == pytest.approx(expected)


@given(taxonomy=taxonomies(), seed=st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_log_loss_equals_a_loop_over_samples(taxonomy: Taxonomy, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(9, taxonomy.num_classes, generator=generator, dtype=torch.float64) + 0.01
    labels = torch.randint(taxonomy.num_classes, (9,), generator=generator)
    expected = [-math.log(row[label] / sum(row)) for row, label in zip(weights.tolist(), labels.tolist(), strict=True)]
    logs = (weights / weights.sum(dim=1, keepdim=True)).log()
    assert HF.log_loss(logs, labels, taxonomy).tolist() == pytest.approx(expected)


def test_a_probability_of_zero_costs_a_finite_amount() -> None:
    logs = torch.tensor([[1.0, 0.0, 0.0]]).log()
    assert HF.log_loss(logs, torch.tensor([1]), TOY).item() == pytest.approx(708.396, abs=1e-3)
    assert HF.log_loss(logs, torch.tensor([0]), TOY).item() == 0


def test_what_is_no_log_probability_is_refused_with_its_row() -> None:
    logs = torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]).log()
    with pytest.raises(ValueError, match=r"^row 1: expected logarithms of probabilities, none above 0$"):
        HF.log_loss(torch.stack([logs[0], logs[1].exp()]), torch.tensor([0, 1]), TOY)
    with pytest.raises(ValueError, match=r"^row 0: expected logarithms of probabilities, none above 0$"):
        HF.log_loss(logs.masked_fill(logs < -1, torch.nan), torch.tensor([0, 1]), TOY)
    with pytest.raises(ValueError, match=r"^expected log-probabilities of shape \(2, 3\), got \(2, 2\)$"):
        HF.log_loss(logs[:, :2], torch.tensor([0, 1]), TOY)
