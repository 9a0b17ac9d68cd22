"""The suite: its names, its values one by one, many classes, and several processes."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torchmetrics import MetricCollection

from hiercos import Taxonomy
from hiercos.metrics import NDCG, SuiteSums, default_suite, ranking, suite_means, suite_values
from hiercos.metrics import functional as HF
from hiercos.metrics import rank_tables as tables
from hiercos.metrics.ranking import best_classes
from hiercos.metrics.table import metric_spec
from trees import TOY, TOY17, random_tree

TREE = random_tree(5, 60)


def batch(taxonomy: Taxonomy, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    scores = torch.randn(rows, taxonomy.num_classes, generator=generator)
    labels = torch.randint(taxonomy.num_classes, (rows,), generator=generator)
    scores[torch.arange(rows), labels] += 2.0
    return scores, labels, torch.randn(rows, taxonomy.num_nodes, generator=generator)


@pytest.mark.parametrize("most_tabulated", [0, 5_000])
@pytest.mark.parametrize("taxonomy", [TOY, TOY17, TREE])
def test_every_value_of_the_suite_is_that_of_its_function(
    taxonomy: Taxonomy, most_tabulated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, labels, node_scores = batch(taxonomy, 50)
    monkeypatch.setattr(tables, "MOST_TABULATED", most_tabulated)
    monkeypatch.setattr(tables, "CHUNK", 20 * taxonomy.num_classes)
    suite = default_suite(taxonomy)
    log_probabilities = scores.double().log_softmax(dim=1)
    suite.update(scores, labels, node_scores, log_probabilities)
    monkeypatch.undo()
    levels = HF.level_accuracy(node_scores, labels, taxonomy).nanmean(dim=0)
    expected = {
        "top1": HF.top_k_accuracy(scores, labels, taxonomy),
        "mistake_severity": HF.mistake_severity(scores, labels, taxonomy),
        **{f"ahd_at_{k}": HF.average_hierarchical_distance(scores, labels, taxonomy, k) for k in (1, 5, 20)},
        "hops": HF.hops(scores, labels, taxonomy),
        **{f"hops_at_{k}": HF.hops(scores, labels, taxonomy, k) for k in (5, 20)},
        **{f"correct_order_at_{k}": HF.correct_order(scores, labels, taxonomy, k) for k in (1, 3, 5, 10, 20, 50)},
        "correct_order_all": HF.correct_order(scores, labels, taxonomy),
        "mrr": HF.reciprocal_rank(scores, labels, taxonomy),
        **{f"accuracy_level_{level}": value for level, value in enumerate(levels, 1)},
        "fpa": HF.full_path_accuracy(node_scores, labels, taxonomy),
        "top5": HF.top_k_accuracy(scores, labels, taxonomy, 5),
        "macro_accuracy": HF.macro_accuracy(scores, labels, taxonomy),
        "log_loss": HF.log_loss(log_probabilities, labels, taxonomy),
    }
    result = suite.compute()
    assert list(result) == list(expected)
    for name, values in expected.items():
        assert result[name].item() == pytest.approx(values.double().mean().item(), abs=1e-14), name


def test_without_node_scores_the_levels_are_those_of_the_best_class() -> None:
    scores, labels, _ = batch(TREE, 30)
    suite = default_suite(TREE)
    suite.update(scores, labels)
    result = suite.compute()
    paths = torch.tensor(TREE.path_table(TREE.leaves))
    answers = paths[scores.argmax(dim=1)]
    assert result["fpa"] == result["top1"]
    expected = HF.level_accuracy(answers, labels, TREE).nanmean(dim=0)
    assert result["accuracy_level_2"].item() == pytest.approx(expected[1].item())


def test_the_suite_is_a_collection_that_takes_its_arguments_by_position_and_by_name() -> None:
    scores, labels, node_scores = batch(TREE, 20)
    by_position, by_name = default_suite(TREE), default_suite(TREE).to(torch.device("cpu"))
    assert isinstance(by_position, MetricCollection)
    by_position.update(scores, labels, node_scores)
    by_name.update(node_scores=node_scores, labels=labels, scores=scores)
    torch.testing.assert_close(by_position.compute(), by_name.compute(), rtol=0, atol=0, equal_nan=True)


def test_without_probabilities_the_log_loss_is_unknown_and_wrong_ones_are_refused() -> None:
    scores, labels, _ = batch(TREE, 6)
    suite = default_suite(TREE)
    suite.update(scores, labels)
    assert math.isnan(suite.compute()["log_loss"].item())
    suite.update(scores, labels, log_probabilities=scores.log_softmax(dim=1))
    assert suite.compute()["log_loss"].item() == pytest.approx(torch.nn.functional.cross_entropy(scores, labels).item())
    with pytest.raises(ValueError, match=r"^row 0: expected logarithms of probabilities, none above 0$"):
        suite.update(scores, labels, log_probabilities=scores.softmax(dim=1))
    with pytest.raises(ValueError, match=r"^expected log-probabilities of shape \(6, \d+\), got \(5, \d+\)$"):
        suite.update(scores, labels, log_probabilities=scores[1:].log_softmax(dim=1))


def test_a_suite_of_some_metrics_ranks_no_more_classes_than_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labels, _ = batch(TREE, 6)
    depths: list[int] = []
    monkeypatch.setattr(ranking, "best_classes", lambda scores, k: depths.append(k) or best_classes(scores, k))
    found = suite_values(scores, labels, TREE, specs=[metric_spec("top5"), metric_spec("ahd_at_1")])
    assert depths == [5]
    assert torch.equal(found[:, 0], HF.top_k_accuracy(scores, labels, TREE, 5).double())


def test_weights_count_samples_as_often_as_repeating_them() -> None:
    scores, labels, _ = batch(TREE, 30)
    weights = torch.arange(30) % 3
    repeated = torch.repeat_interleave(torch.arange(30), weights)
    values = suite_values(scores, labels, TREE)
    torch.testing.assert_close(
        suite_means(values, labels, TREE, weights.double()),
        suite_means(values[repeated], labels[repeated], TREE),
        equal_nan=True,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_batches_add_up_to_the_means_of_all_samples(weighted: bool) -> None:
    scores, labels, _ = batch(TREE, 30)
    values, weights = suite_values(scores, labels, TREE), torch.arange(30).double() % 3 if weighted else None
    sums = SuiteSums.empty(TREE)
    for rows in torch.arange(30).split(7):
        part = SuiteSums.of(values[rows], labels[rows], TREE, weights=None if weights is None else weights[rows])
        sums = sums.plus(part)
    torch.testing.assert_close(sums.averages(TREE), suite_means(values, labels, TREE, weights), equal_nan=True)
    if not weighted:
        assert torch.equal(SuiteSums.of(values, labels, TREE).totals, values.nansum(dim=0))


def test_the_suite_moves_to_a_device_with_all_it_counts() -> None:
    suite = default_suite(TREE).to("meta")
    assert {state.device.type for state in suite["MetricSuite"].metric_state.values()} == {"meta"}


def test_more_metrics_join_the_suite_and_it_is_nan_before_any_sample() -> None:
    collection = MetricCollection([default_suite(TOY), NDCG(TOY)])
    scores, labels, _ = batch(TOY, 4)
    collection.update(scores[:0], labels[:0])
    assert math.isnan(collection.compute()["hops"].item())
    collection.update(scores, labels)
    result = collection.compute()
    assert result["hops"].item() == pytest.approx(HF.hops(scores, labels, TOY).mean().item())
    assert result["NDCG"].item() == pytest.approx(HF.ndcg(scores, labels, TOY).mean().item())


@pytest.mark.long
def test_two_processes_with_uneven_shards_give_the_same_numbers(tmp_path: Path) -> None:
    whole = batch(TREE, 41)
    np.savez(tmp_path / "tree.npz", names=np.array(TREE.names), parents=TREE.parents, leaves=TREE.leaves)
    for rank, rows in enumerate([slice(0, 30), slice(30, 41)]):
        shard = zip(("scores", "labels", "node_scores"), whole, strict=True)
        np.savez(tmp_path / f"samples-{rank}.npz", **{name: values[rows].numpy() for name, values in shard})
    script = Path(__file__).with_name("count_shard.py")
    processes = [subprocess.Popen([sys.executable, str(script), str(tmp_path), str(rank), "2"]) for rank in range(2)]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    suite = default_suite(TREE)
    suite.update(*whole)
    expected = {name: value.item() for name, value in suite.compute().items()}
    for rank in range(2):
        found = json.loads((tmp_path / f"result-{rank}.json").read_text(encoding="utf-8"))
        assert found == pytest.approx(expected, rel=0, abs=1e-14, nan_ok=True)


def test_many_classes_need_no_table_of_pairs() -> None:
    taxonomy = Taxonomy.from_paths([(f"{c % 40}", f"{c % 400}", f"{c}") for c in range(tables.MOST_TABULATED + 1)])
    scores, labels, _ = batch(taxonomy, 3)
    found = HF.hops(scores, labels, taxonomy, 20)
    suite = default_suite(taxonomy)
    suite.update(scores, labels)
    assert suite.compute()["hops_at_20"].item() == pytest.approx(found.mean().item(), abs=1e-14)
    assert "rank_table" not in vars(tables.rank_tables(taxonomy, scores.device))
