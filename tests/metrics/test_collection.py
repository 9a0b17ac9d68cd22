"""Metrics together in a MetricCollection of torchmetrics: none takes over another's numbers, each gets its inputs."""

import pytest
import torch
from torchmetrics import Metric, MetricCollection

from hiercos import Taxonomy, metrics
from hiercos.metrics import functional as HF
from trees import TOY, TOY17

OTHER = Taxonomy.from_paths([("pet", "cat"), ("thing", "dog"), ("thing", "car")])  # TOY's classes and its shape


def alone(metric: Metric, *batches: tuple[torch.Tensor, torch.Tensor]) -> float:
    for batch in batches:
        metric.update(*batch)
    return float(metric.compute().sum())


def test_metrics_that_agree_on_the_first_batch_stay_apart() -> None:
    made = {
        "top1": lambda: metrics.TopKAccuracy(TOY, k=1),
        "top2": lambda: metrics.TopKAccuracy(TOY, k=2),
        "mrr": lambda: metrics.MeanReciprocalRank(TOY),
        "f1": lambda: metrics.HierarchicalF1(TOY),
        "hops": lambda: metrics.HOPS(TOY),
        "hops_of_another_tree": lambda: metrics.HOPS(OTHER),
        "one_cost": lambda: metrics.ExpectedCost(TOY, 1 - torch.eye(3)),
        "another_cost": lambda: metrics.ExpectedCost(TOY, 2 - 2 * torch.eye(3)),
    }
    collection = MetricCollection({name: make() for name, make in made.items()})
    right = (torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([0]))
    wrong = (torch.tensor([[2.0, 3.0, 1.0]]), torch.tensor([0]))
    collection.update(*right)
    collection.update(*wrong)
    expected = {name: alone(make(), right, wrong) for name, make in made.items()}
    assert {name: value.item() for name, value in collection.compute().items()} == pytest.approx(expected)
    assert (expected["top1"], expected["top2"], expected["mrr"], expected["another_cost"]) == (0.5, 1.0, 0.75, 1.0)


def test_level_metrics_and_suites_of_two_trees_stay_apart() -> None:
    pair = {"here": metrics.LevelAccuracy(TOY), "there": metrics.LevelAccuracy(OTHER)}
    collection = MetricCollection(
        {**pair, "suite": metrics.MetricSuite(TOY), "other_suite": metrics.MetricSuite(OTHER)}
    )
    cat, dog = torch.tensor([0]), torch.tensor([1])
    collection.update(scores=torch.eye(3)[:1], labels=cat, answers=torch.tensor([[0, 2]]))
    collection.update(scores=torch.eye(3)[:1], labels=dog, answers=torch.tensor([[0, 2]]))
    result = collection.compute()
    assert result["here"].tolist() == [1.0, 0.5]
    assert result["there"].tolist() == [0.5, 0.5]
    assert (result["suite_ahd_at_1"], result["other_suite_ahd_at_1"]) == (0.5, 1.0)


def test_a_collection_gives_each_metric_what_it_asks_for_by_name() -> None:
    collection = MetricCollection(
        metrics.HOPS(TOY17),
        metrics.FullPathAccuracy(TOY17),
        metrics.MeanNormalizedRank(TOY17),
        metrics.MetricSuite(TOY17),
    )
    generator = torch.Generator().manual_seed(0)
    scores, node_scores = (torch.rand(9, width, generator=generator) for width in (17, TOY17.num_nodes))
    labels = torch.arange(9)
    answers = torch.tensor(TOY17.path_table(TOY17.leaves[[0, 1, 2, 3, 4, 0, 0, 0, 0]]))
    for rows in (slice(0, 4), slice(4, 9)):
        collection.update(
            scores=scores[rows], labels=labels[rows], answers=answers[rows], node_scores=node_scores[rows]
        )
    result = collection.compute()
    assert result["HOPS"].item() == pytest.approx(HF.hops(scores, labels, TOY17).mean().item())
    assert result["FullPathAccuracy"].item() == pytest.approx(5 / 9)
    assert result["MeanNormalizedRank"].item() == pytest.approx(
        HF.normalized_rank(node_scores, labels, TOY17).mean().item()
    )
    assert result["fpa"].item() == HF.full_path_accuracy(node_scores, labels, TOY17).double().mean().item()
