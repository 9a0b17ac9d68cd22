"""Metrics of samples labelled with inner nodes, and metrics on graphs, against sets of ancestors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.metrics import default_suite, suite_means, suite_names, suite_values
from hiercos.metrics import functional as HF
from hiercos.metrics.table import SUITE
from hiercos.taxonomy import TaxonomyError, nodes_of_labels
from trees import TOY, descendant_sets, graphs, taxonomies

FISH = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])


def batch(taxonomy: Taxonomy, seed: int, rows: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, labels of any depth with the root, and log-probabilities."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(rows, taxonomy.num_classes, generator=generator, dtype=torch.float64)
    labels = torch.randint(taxonomy.num_classes + taxonomy.num_nodes + 1, (rows,), generator=generator)
    return scores, labels, scores.log_softmax(dim=1)


@settings(deadline=None, max_examples=40)
@given(taxonomy=st.one_of(taxonomies(), graphs()), seed=st.integers(0, 2**16))
def test_the_log_loss_of_a_node_is_that_of_its_classes(taxonomy: Taxonomy, seed: int) -> None:
    _, labels, logs = batch(taxonomy, seed)
    below = descendant_sets(taxonomy)
    expected = [
        np.nan if node < 0 else -row[np.isin(taxonomy.leaves, sorted(below[node]))].exp().sum().log()
        for row, node in zip(logs, nodes_of_labels(labels, taxonomy), strict=True)
    ]
    np.testing.assert_allclose(HF.log_loss(logs, labels, taxonomy), expected, rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_a_level_counts_the_samples_whose_label_has_it(taxonomy: Taxonomy, seed: int) -> None:
    scores, labels, _ = batch(taxonomy, seed)
    answers = torch.tensor(taxonomy.path_table(taxonomy.leaves))[scores.argmax(dim=1)]
    right = HF.level_accuracy(answers, labels, taxonomy)
    for row, node in enumerate(nodes_of_labels(labels, taxonomy).tolist()):
        path = taxonomy.path(node) if node >= 0 else ()
        expected = [float(answers[row, level] == own) for level, own in enumerate(path)]
        expected += [np.nan] * (taxonomy.height - len(path))
        np.testing.assert_array_equal(right[row], expected)


def test_the_suite_leaves_inner_nodes_out_of_all_but_the_levels_and_the_log_loss() -> None:
    scores = torch.tensor([[3.0, 2.0, 1.0]] * 4)
    labels = torch.tensor([0, 3, 4, 8])  # cat, pet, vehicle, the root
    suite = default_suite(TOY)
    logs = torch.tensor([[0.5, 0.25, 0.25]] * 4, dtype=torch.float64).log()
    suite.update(scores, labels, log_probabilities=logs)
    found = {name: value.item() for name, value in suite.compute().items()}
    assert (found["top1"], found["hops"], found["fpa"], found["macro_accuracy"]) == (1, 1, 1, 1)
    assert found["accuracy_level_1"] == pytest.approx(2 / 3)  # cat and pet, not vehicle
    assert found["accuracy_level_2"] == 1  # only cat has it
    assert found["log_loss"] == pytest.approx(-np.log([0.5, 0.75, 0.25]).mean())
    assert int(suite["MetricSuite"].ignored) == 3
    values = suite_values(scores, labels, TOY, log_probabilities=logs)
    means = dict(zip(suite_names(TOY), suite_means(values, labels, TOY).tolist(), strict=True))
    np.testing.assert_allclose([means[name] for name in found], [*found.values()])


def test_every_metric_says_whether_inner_nodes_count() -> None:
    assert {spec.name for spec in SUITE if spec.inner_labels} == {"accuracy_level", "log_loss"}


def test_a_graph_has_a_suite_without_levels_and_refuses_what_needs_them() -> None:
    suite = default_suite(FISH)
    suite.update(torch.eye(3), torch.arange(3), node_scores=torch.ones(3, 5))
    found = suite.compute()
    assert found["hops"] == 1
    assert not {"fpa", "accuracy_level_1"} & set(found)
    for needs in (HF.level_accuracy, HF.full_path_accuracy, HF.normalized_rank):
        with pytest.raises(TaxonomyError, match="metrics of levels: expected a tree, got a graph with 1 node"):
            needs(torch.ones(3, 5), torch.arange(3), FISH)
    assert HF.ndcg(torch.eye(3), torch.arange(3), FISH).tolist()[0] == pytest.approx(1)
    sums = HF.summed_probabilities(torch.tensor([[0.5, 0.25, 0.25]]), FISH)
    assert sums.tolist() == [[0.75, 0.75, 0.5, 0.25, 0.25]]
