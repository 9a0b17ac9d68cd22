"""What every metric class and every row of the table holds to: odd inputs, any batches, direction and range."""

import copy
import inspect
import math
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torchmetrics import Metric, MetricCollection

from hiercos import Taxonomy, metrics
from hiercos.metrics import functional as HF
from hiercos.metrics.suite import metric_function
from hiercos.metrics.table import CLASSES, MEASURED, of_all_levels
from trees import TOY17, random_tree

OPTIONS = {
    "TopKAccuracy": {"k": 3},
    "AverageHierarchicalDistance": {"k": 5},
    "CorrectOrder": {"k": 2},
    "NDCG": {"k": 5},
}
MORE = {"HOPS@5": {"k": 5}, "exact HOPS": {"variant": "exact"}, "HOPS@3": {"k": 3, "variant": "paper", "ties": "mean"}}


def made(name: str) -> Callable[[Taxonomy], Metric]:
    """Maker of a class of the table, with options for some."""
    if name == "ExpectedCost":
        return lambda t: metrics.ExpectedCost(t, 1 - torch.eye(t.num_classes))
    return lambda t: getattr(metrics, name)(t, **OPTIONS.get(name, {}))


RANKED = {name: made(name) for name, spec in CLASSES.items() if spec.source == "ranking"}
RANKED |= {name: lambda t, options=options: metrics.HOPS(t, **options) for name, options in MORE.items()}
OTHERS = {name: made(name) for name in [*(CLASSES.keys() - RANKED.keys()), "CalibrationError"]}
OF_MISTAKES = ("mistake_severity", "MistakeSeverity")  # metrics of the wrong answers alone: nan without one
ROWS = {spec.name: spec for spec in of_all_levels(MEASURED, TOY17.height)}
ALL = RANKED | dict(sorted(OTHERS.items()))
SINGLE = Taxonomy.from_paths([("all", "one")])
PAIR = Taxonomy.from_paths([("b",), ("a", "c")])


def batch(name: str, taxonomy: Taxonomy, rows: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Input of a class by the name that its `update` gives it, and labels."""
    generator = torch.Generator().manual_seed(rows)
    kind = next(iter(inspect.signature(ALL[name](taxonomy).update).parameters))
    width = taxonomy.num_classes if kind in ("scores", "log_probabilities") else taxonomy.num_nodes
    labels = torch.randint(taxonomy.num_classes, (rows,), generator=generator)
    values = torch.rand(rows, width, generator=generator).to(dtype)
    return values.log_softmax(dim=1) if kind == "log_probabilities" else values, labels


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_the_mean_of_its_function_and_says_so(name: str) -> None:
    metric, spec, (inputs, labels) = ALL[name](TOY17), CLASSES[name], batch(name, TOY17, 40)
    options = {option: getattr(metric, option) for option in metric.options.parameters}
    function = metric_function(spec)
    given = {"labels": labels} if "labels" in inspect.signature(function).parameters else {}
    values = HF.macro_accuracy(inputs, labels, TOY17) if name == "MacroAccuracy" else None
    values = function(inputs, taxonomy=TOY17, **given, **options).double() if values is None else values
    metric.update(inputs, labels)
    torch.testing.assert_close(metric.compute(), values.nanmean(dim=0), rtol=0, atol=1e-14)
    described = inspect.getdoc(type(metric))
    assert spec.meaning in described
    assert inspect.getdoc(function) in described
    assert {"taxonomy", *options} <= set(inspect.signature(type(metric)).parameters)


@pytest.mark.parametrize("name", ALL)
def test_a_metric_is_pickled_and_copied_with_what_it_counted(name: str) -> None:
    metric, (inputs, labels) = ALL[name](TOY17), batch(name, TOY17, 9)
    metric.update(inputs, labels)
    for other in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert type(other) is type(metric)
        other.update(inputs, labels)  # as many samples of the same values, so the mean stays
        torch.testing.assert_close(other.compute(), metric.compute(), equal_nan=True)


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
    assert metric.compute().isfinite().any() or name == "MistakeSeverity"


@pytest.mark.parametrize("name", RANKED)
def test_a_single_class_is_always_right(name: str) -> None:
    metric = RANKED[name](SINGLE)
    metric.update(torch.tensor([[0.3]]), torch.tensor([0]))
    best = math.nan if name in OF_MISTAKES else float(metric.higher_is_better)
    assert metric.compute().item() == pytest.approx(best, nan_ok=True)


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


@pytest.mark.parametrize("name", [name for name in ALL if name != "TreeInconsistency"])
def test_labels_that_are_no_node_are_refused_with_their_row(name: str) -> None:
    outputs, labels = batch(name, TOY17, 5)
    for wild in (-1, 17 + 23 + 1):
        labels[4] = wild
        with pytest.raises(ValueError, match=f"row 4: expected a class from 0 to 16 or a node up to 40, got {wild}"):
            ALL[name](TOY17).update(outputs, labels)


@pytest.mark.parametrize("name", [*RANKED, "FullPathAccuracy"])
def test_a_metric_of_a_ranking_leaves_out_inner_nodes_and_counts_them(name: str) -> None:
    outputs, labels = batch(name, TOY17, 9)
    mixed, alone = ALL[name](TOY17), ALL[name](TOY17)
    labels[[2, 5, 8]] = torch.tensor([17, 17 + 4, 17 + 23])  # two nodes and the root
    mixed.update(outputs, labels)
    alone.update(outputs[labels < 17], labels[labels < 17])
    torch.testing.assert_close(mixed.compute(), alone.compute(), rtol=0, atol=0, equal_nan=True)
    assert (int(mixed.ignored), int(alone.ignored)) == (3, 0)


def test_a_function_of_a_ranking_names_an_inner_node() -> None:
    outputs, labels = batch("HOPS", TOY17, 5)
    labels[2] = 17
    with pytest.raises(ValueError, match="row 2: label 17 is the node 'A2'; this metric needs a class, 0 to 16"):
        HF.hops(outputs, labels, TOY17)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected scores of shape \(B, 17\), one column per class, got \(2, 3\)"):
        HF.hops(torch.zeros(2, 3), torch.tensor([0, 1]), TOY17)
    with pytest.raises(ValueError, match=r"expected 2 labels, one per row of scores, got shape \(1,\)"):
        HF.hops(torch.zeros(2, 17), torch.tensor([0]), TOY17)
    with pytest.raises(ValueError, match=r"expected labels of an integer type, got torch.float32"):
        HF.hops(torch.zeros(1, 17), torch.tensor([0.0]), TOY17)


def test_metrics_work_in_a_collection_and_with_forward() -> None:
    collection = MetricCollection({name: make(TOY17) for name, make in RANKED.items()})
    outputs, labels = batch("HOPS", TOY17, 12)
    collection(outputs[:5], labels[:5])
    collection(outputs[5:], labels[5:])
    assert collection.compute()["HOPS"].item() == pytest.approx(HF.hops(outputs, labels, TOY17).mean().item())
    collection.reset()
    assert collection["HOPS"].count == 0


@pytest.mark.parametrize("name", ALL)
def test_every_metric_says_which_way_is_better(name: str) -> None:
    spec = CLASSES.get(type(ALL[name](TOY17)).__name__)
    assert ALL[name](TOY17).higher_is_better is (spec is not None and spec.higher_is_better)
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
    matplotlib.pyplot.close(figure)


def row_inputs(taxonomy: Taxonomy, rows: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """Scores, labels, node scores and log-probabilities."""
    scores, labels = batch("HOPS", taxonomy, rows, dtype)
    nodes, _ = batch("FullPathAccuracy", taxonomy, rows, dtype)
    return scores, labels, nodes, scores.log_softmax(dim=1)


def row_value(name: str, *batches: tuple[Tensor, ...], taxonomy: Taxonomy = TOY17) -> Tensor:
    suite = metrics.MetricSuite(taxonomy, [ROWS[name]])
    for inputs in batches:
        suite.update(*inputs)
    assert list(suite.compute()) == [name]
    return suite.compute()[name]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_gives_the_same_float64_in_any_batches(name: str) -> None:
    inputs = row_inputs(TOY17, 61)
    parts = [tuple(part[start:stop] for part in inputs) for start, stop in ((0, 1), (1, 1), (1, 30), (30, 61))]
    found = row_value(name, *parts)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, row_value(name, inputs), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_unknown_without_samples_and_takes_low_precision(name: str) -> None:
    assert row_value(name, row_inputs(TOY17, 0)).isnan()
    assert row_value(name, row_inputs(TOY17, 9, torch.bfloat16)).isfinite()


@pytest.mark.parametrize("name", ROWS)
def test_a_row_keeps_its_range_and_is_best_for_a_perfect_answer(name: str) -> None:
    spec, inputs = ROWS[name], row_inputs(TOY17, 40)
    values = row_values(name, inputs)
    highest = TOY17.height if spec.highest is None else spec.highest
    known = values[~values.isnan()]
    assert 0 <= known.min() <= known.max() <= highest
    perfect = row_values(name, perfect_inputs())
    scores, _, nodes, logs = row_inputs(TOY17, 17)
    others = row_values(name, (scores, perfect_inputs()[1], nodes, logs))
    gain = perfect - others if spec.higher_is_better else others - perfect
    assert perfect.isnan().all() if name in OF_MISTAKES else gain.nan_to_num().min() >= -1e-6
    if spec.k in (None, 1) and name not in OF_MISTAKES:  # otherwise the first k hold other classes, too
        assert perfect.nanmean().item() == pytest.approx(float(spec.higher_is_better), abs=1e-6)


def row_values(name: str, inputs: tuple[Tensor, ...]) -> Tensor:
    scores, labels, nodes, logs = inputs
    return metrics.suite_values(scores, labels, TOY17, nodes, logs, specs=[ROWS[name]])


def perfect_inputs() -> tuple[Tensor, ...]:
    """Every class in the order that the tree prefers, its path at the levels, and nearly all probability."""
    labels = torch.arange(17)
    scores = -torch.tensor(TOY17.distance_matrix()).double()
    return scores, labels, torch.tensor(TOY17.path_table(TOY17.leaves)), (100 * scores).log_softmax(dim=1)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_needs_no_more_ranked_classes_than_it_says(name: str) -> None:
    scores, labels, nodes, logs = row_inputs(TOY17, 30)
    depth = ROWS[name].depth(17)
    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(1, scores.topk(depth).indices, value=True)
    cut = scores.masked_fill(~kept, -torch.inf)
    whole, first = (row_value(name, (known, labels, nodes, logs)) for known in (scores, cut))
    torch.testing.assert_close(first, whole)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_refuses_labels_that_are_no_class(name: str) -> None:
    scores, labels, nodes, logs = row_inputs(TOY17, 5)
    labels[4] = -1
    with pytest.raises(ValueError, match="row 4: expected a class from 0 to 16 or a node up to 40, got -1"):
        row_value(name, (scores, labels, nodes, logs))
