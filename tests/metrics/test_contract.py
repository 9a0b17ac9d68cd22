"""What every metric holds to: odd inputs, any batches, and the class equal to its function."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torchmetrics import Metric, MetricCollection

from hiercos import Taxonomy, metrics
from hiercos.metrics import functional as HF
from trees import TOY17, random_tree

RANKED: dict[str, Callable[[Taxonomy], Metric]] = {
    "top_k": lambda t: metrics.TopKAccuracy(t, k=3),
    "hops": metrics.HOPS,
    "hops_at_5": lambda t: metrics.HOPS(t, k=5),
    "hops_exact": lambda t: metrics.HOPS(t, variant="exact"),
    "hops_mean_ties": lambda t: metrics.HOPS(t, k=3, variant="paper", ties="mean"),
    "ahd": lambda t: metrics.AverageHierarchicalDistance(t, k=5),
    "severity": metrics.MistakeSeverity,
    "order": lambda t: metrics.CorrectOrder(t, k=2),
    "precision": lambda t: metrics.HierarchicalPrecision(t, k=2),
    "recall": metrics.HierarchicalRecall,
    "f1": metrics.HierarchicalF1,
    "mrr": metrics.MeanReciprocalRank,
    "ndcg": lambda t: metrics.NDCG(t, k=5),
    "preference": metrics.PreferenceOrderDistance,
    "cost": lambda t: metrics.ExpectedCost(t, torch.ones(t.num_classes, t.num_classes)),
}
LEVELS: dict[str, Callable[[Taxonomy], Metric]] = {
    "fpa": metrics.FullPathAccuracy,
    "tice": metrics.TreeInconsistency,
    "mnr": metrics.MeanNormalizedRank,
    "levels": metrics.LevelAccuracy,
    "calibration": metrics.CalibrationError,
}
ALL = RANKED | LEVELS
SINGLE = Taxonomy.from_paths([("all", "one")])
PAIR = Taxonomy.from_paths([("b",), ("a", "c")])


def batch(name: str, taxonomy: Taxonomy, rows: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    width = taxonomy.num_nodes if name in LEVELS else taxonomy.num_classes
    labels = torch.randint(taxonomy.num_classes, (rows,), generator=generator)
    return torch.rand(rows, width, generator=generator).to(dtype), labels


@pytest.mark.parametrize("name", ALL)
def test_any_split_into_batches_gives_the_same_number(name: str) -> None:
    outputs, labels = batch(name, TOY17, 61)
    whole, parts = ALL[name](TOY17), ALL[name](TOY17)
    whole.update(outputs, labels)
    for start, stop in ((0, 1), (1, 1), (1, 30), (30, 61)):
        parts.update(outputs[start:stop], labels[start:stop])
    torch.testing.assert_close(parts.compute(), whole.compute(), rtol=0, atol=1e-14, equal_nan=True)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_floating_point_type_gives_float64(name: str, dtype: torch.dtype) -> None:
    metric = ALL[name](TOY17)
    outputs, labels = batch(name, TOY17, 9, dtype)
    metric.update(outputs, labels)
    exact = ALL[name](TOY17)
    exact.update(outputs.double(), labels)
    torch.testing.assert_close(metric.compute(), exact.compute(), rtol=0, atol=1e-12, equal_nan=True)
    assert metric.compute().dtype == torch.float64


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("taxonomy", [SINGLE, PAIR, random_tree(1, 30)])
def test_one_class_two_classes_and_uneven_trees_work(name: str, taxonomy: Taxonomy) -> None:
    metric = ALL[name](taxonomy)
    metric.update(*batch(name, taxonomy, 1))
    assert metric.compute().isfinite().any() or name == "severity"


@pytest.mark.parametrize("name", RANKED)
def test_a_single_class_is_always_right(name: str) -> None:
    metric = RANKED[name](SINGLE)
    metric.update(torch.tensor([[0.3]]), torch.tensor([0]))
    expected = {"ahd": 0.0, "preference": 0.0, "severity": math.nan}.get(name, 1.0)
    assert metric.compute().item() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", ALL)
def test_an_empty_batch_counts_nothing(name: str) -> None:
    metric = ALL[name](TOY17)
    metric.update(*batch(name, TOY17, 0))
    assert metric.compute().isnan().all()


@pytest.mark.parametrize("name", RANKED)
def test_nan_scores_are_refused_with_their_row(name: str) -> None:
    outputs, labels = batch(name, TOY17, 5)
    outputs[3, 8] = torch.nan
    with pytest.raises(ValueError, match="row 3: a score is NaN"):
        RANKED[name](TOY17).update(outputs, labels)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"tice"}))
def test_labels_that_are_no_class_are_refused_with_their_row(name: str) -> None:
    outputs, labels = batch(name, TOY17, 5)
    inner, wild = labels.clone(), labels.clone()
    inner[2], wild[4] = 17, -1
    with pytest.raises(ValueError, match="row 2: label 17 is the node 'A2'; metrics need a class, 0 to 16"):
        ALL[name](TOY17).update(outputs, inner)
    with pytest.raises(ValueError, match="row 4: expected a class from 0 to 16, got label -1"):
        ALL[name](TOY17).update(outputs, wild)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected scores of shape \(B, 17\), one column per class, got \(2, 3\)"):
        HF.hops(torch.zeros(2, 3), torch.tensor([0, 1]), TOY17)
    with pytest.raises(ValueError, match=r"expected 2 labels, one per row of scores, got shape \(1,\)"):
        HF.hops(torch.zeros(2, 17), torch.tensor([0]), TOY17)
    with pytest.raises(ValueError, match=r"expected labels of an integer type, got torch.float32"):
        HF.hops(torch.zeros(1, 17), torch.tensor([0.0]), TOY17)


def test_metrics_work_in_a_collection_and_with_forward() -> None:
    collection = MetricCollection({name: make(TOY17) for name, make in RANKED.items()})
    outputs, labels = batch("hops", TOY17, 12)
    collection(outputs[:5], labels[:5])
    collection(outputs[5:], labels[5:])
    assert collection.compute()["hops"].item() == pytest.approx(HF.hops(outputs, labels, TOY17).mean().item())
    collection.reset()
    assert collection["hops"].count == 0


@pytest.mark.parametrize("name", ALL)
def test_every_metric_says_which_way_is_better(name: str) -> None:
    lower = {"ahd", "severity", "preference", "cost", "tice", "mnr", "calibration"}
    assert ALL[name](TOY17).higher_is_better is (name not in lower)
    assert ALL[name](TOY17).plot_lower_bound == 0.0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("name", ALL)
def test_cuda_gives_the_same_numbers(name: str) -> None:
    outputs, labels = batch(name, TOY17, 40)
    here, there = ALL[name](TOY17), ALL[name](TOY17).to("cuda")
    here.update(outputs, labels)
    there.update(outputs.cuda(), labels.cuda())
    torch.testing.assert_close(there.compute().cpu(), here.compute(), rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", ALL)
def test_every_metric_can_be_drawn(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    metric = ALL[name](TOY17)
    metric.update(*batch(name, TOY17, 9))
    figure, axes = metric.plot()
    assert axes.figure is figure
