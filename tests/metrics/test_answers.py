"""Metrics of answers at any depth against sets of ancestors."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.metrics import AnswerMetrics
from hiercos.metrics import functional as HF
from trees import TOY, ancestor_sets, graphs, taxonomies


@settings(deadline=None)
@given(st.one_of(taxonomies(), graphs()), st.integers(0, 1000))
def test_every_metric_is_that_of_the_sets_of_ancestors(taxonomy: Taxonomy, seed: int) -> None:
    generator = np.random.default_rng(seed)
    answers = generator.integers(-1, taxonomy.num_nodes, size=8)
    labels = generator.integers(0, taxonomy.num_nodes, size=8)
    above = [{-1} | own for own in ancestor_sets(taxonomy)]
    values = HF.answer_values(torch.from_numpy(answers), torch.from_numpy(labels), taxonomy)
    for row, (answer, label) in enumerate(zip(answers.tolist(), labels.tolist(), strict=True)):
        mine, true = above[answer] if answer >= 0 else {-1}, above[label]
        both = len(mine & true)
        below = sum(answer in own for node, own in enumerate(above) if node in taxonomy.leaves)
        coverage = 1 - math.log(below) / math.log(taxonomy.num_classes) if taxonomy.num_classes > 1 else answer >= 0
        contained = mine <= true
        expected = [
            *(contained, contained if answer >= 0 else math.nan, both / len(mine), both / len(true)),
            *(2 * both / (len(mine) + len(true)), len(mine ^ true), len(mine - true), coverage),
            *(len(mine) - 1, answer >= 0),
        ]
        assert values[row].tolist() == pytest.approx([float(value) for value in expected], nan_ok=True)


def test_a_sample_labelled_with_the_root_counts_for_nothing() -> None:
    metric = AnswerMetrics(TOY)
    metric.update(torch.tensor([0, 2, -1]), torch.tensor([2, -1, -1]))
    assert HF.answer_values(torch.tensor([2]), torch.tensor([-1]), TOY).isnan().all()
    assert metric.compute()["containment"] == 1
    assert metric.counts.tolist() == [1] * len(HF.ANSWER_METRICS)


def test_the_class_has_the_means_over_batches_of_any_size() -> None:
    generator = torch.Generator().manual_seed(0)
    answers, labels = torch.randint(-1, 5, (40,), generator=generator), torch.randint(0, 5, (40,), generator=generator)
    metric = AnswerMetrics(TOY)
    for part in (slice(0, 7), slice(7, 8), slice(8, 40)):
        metric.update(answers[part], labels[part])
    expected = HF.answer_values(answers, labels, TOY).nanmean(dim=0).tolist()
    assert {name: value.item() for name, value in metric.compute().items()} == pytest.approx(
        dict(zip(HF.ANSWER_METRICS, expected, strict=True))
    )


@pytest.mark.parametrize(
    ("answers", "labels", "message"),
    [
        ([0, 1], [0], "as many answers as labels"),
        ([5], [0], "row 0: expected a node from -1 to 4 as answer, got 5"),
        ([0, 0], [0, 7], "row 1: expected a node from -1 to 4 as label, got 7"),
    ],
)
def test_what_is_no_node_is_refused(answers: list[int], labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HF.answer_values(torch.tensor(answers), torch.tensor(labels), TOY)
