from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos import Taxonomy
from hiercos.benchmark import Entry, compare
from hiercos.decisions import Posterior, rule
from hiercos.evaluation import AnswerTable, VariantAnswers
from hiercos.evaluation.answer_rows import ANSWER_METRICS, posterior_rows
from hiercos.evaluation.variant_answers import rule_of
from hiercos.metrics import functional
from hiercos.records import Record
from hiercos.report import summarize
from hiercos.training import Settings, features_of, run_folder, train
from trees import TOY17, taxonomies


@settings(deadline=None)
@given(taxonomies(), st.integers(0, 1000))
def test_an_answer_is_as_far_as_the_levels_below_the_last_node_it_shares(taxonomy: Taxonomy, seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels = generator.integers(taxonomy.num_classes, size=8)
    nodes = generator.integers(-1, taxonomy.num_nodes, size=8)
    nodes[0] = taxonomy.leaves[labels[0]]
    found = VariantAnswers("", "", rule("none"), Posterior(np.eye(taxonomy.num_classes)[labels], taxonomy), labels)
    vars(found)["nodes"] = nodes
    for row, (node, label) in enumerate(zip(nodes.tolist(), labels.tolist(), strict=True)):
        leaf = int(taxonomy.leaves[label])
        own = taxonomy.path(node) if node >= 0 else ()
        shared = len(set(own) & set(taxonomy.path(leaf)))
        assert (found.is_wrong[row], found.distances[row]) == (
            node != leaf,
            0 if node == leaf else taxonomy.height - shared,
        )


def test_the_means_of_the_rows_are_the_metrics_of_the_records(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    entry = Entry(Settings(method="cross-entropy", epochs=1, batch_size=32), ("none", "crm", "hops", "default"))
    records = compare(fabric, blob_data(TOY17, 340), [entry], [0, 1], tmp_path)
    table = AnswerTable.of(records, tmp_path)
    for name in ("none", "crm", "hops", "auto"):
        own = [record for record in records if record.rule == name]
        top1, ahd = (table.values(own[0].name, metric).mean() for metric in ("top1", "ahd_at_1"))
        assert top1 == pytest.approx(np.mean([record.metrics["top1"] for record in own]))
        assert ahd == pytest.approx(np.mean([record.metrics["ahd_at_1"] for record in own]))
        for metric in ("hops", "log_loss"):
            gap = np.mean([record.metrics[metric] for record in own])
            gap -= np.mean([record.metrics[metric] for record in records if record.rule == "none"])
            assert table.difference(own[0].name, "cross-entropy", metric)[0] == pytest.approx(gap, abs=1e-9)


@pytest.mark.parametrize("name", ["none", "crm", "hops", "auto"])
def test_a_run_stores_the_hops_of_its_rows_under_the_rules_it_was_measured_with(name: str, tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    config = Settings(method="cross-entropy", epochs=1, batch_size=32)
    train(blob_data(TOY17, 340), config, fabric=fabric, folder=tmp_path, rules=("crm", "hops", "default"))
    tested = run_folder.tested_run(tmp_path, held_out=False)
    decided = rule_of(Record.read(tmp_path, name))
    ranking = torch.from_numpy(decided.ranking(tested.posterior))
    wanted = functional.hops(ranking, torch.from_numpy(tested.labels), TOY17).numpy()
    np.testing.assert_array_equal(tested.hops[name], wanted)
    np.testing.assert_array_equal(posterior_rows(tmp_path, name)[:, 0], wanted)


def test_the_stored_scores_are_read_once_for_the_rows_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    train(
        blob_data(TOY17, 340), Settings(method="cross-entropy", epochs=1, batch_size=32), fabric=fabric, folder=tmp_path
    )
    read, calls = run_folder.read_npz, []
    monkeypatch.setattr(run_folder, "read_npz", lambda path, **how: calls.append(path.name) or read(path, **how))
    posterior_rows(tmp_path, "none")
    assert calls == ["scores.npz"]


def test_rows_of_inner_nodes_count_for_the_log_loss_as_in_the_records(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    data = blob_data(TOY17, 340)
    nodes = data.dataset.nodes.copy()
    tests = data.dataset.rows("test")
    coarse = tests[TOY17.depths[nodes[tests]] > 1][::3]
    nodes[coarse] = [TOY17.path(each)[0] for each in nodes[coarse]]
    data = features_of(replace(data.dataset, nodes=nodes))
    entries = [Entry(Settings(method=name, epochs=1, batch_size=32)) for name in ("cross-entropy", "hier-cos")]
    records = compare(fabric, data, entries, [0], tmp_path)
    table = AnswerTable.of(records, tmp_path)
    flat, ours = (record.metrics for record in records)
    for metric in ("top1", "ahd_at_1", "hops", "log_loss"):
        found = table.difference("hier-cos", "cross-entropy", metric)
        assert found[0] == pytest.approx(ours[metric] - flat[metric], abs=1e-9)
        assert found[1] < found[0] < found[2]
        mirrored = table.difference("cross-entropy", "hier-cos", metric)
        assert mirrored == pytest.approx((-found[0], -found[2], -found[1]))
    assert "array" not in repr(table)


def test_records_take_the_answers_of_a_rule_that_answers_with_inner_nodes(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    entry = Entry(Settings(method="cross-entropy", epochs=1, batch_size=32), ("none", "majority"))
    records = compare(fabric, blob_data(TOY17, 340), [entry], [0, 1], tmp_path)
    table = AnswerTable.of(records, tmp_path)
    variants = {variant.name: variant for variant in summarize(table.answered(records))}
    for metric in ("top1", "ahd_at_1"):
        over_seeds = variants["cross-entropy + majority"].difference(variants["cross-entropy"], metric).mean
        over_rows = table.difference("cross-entropy + majority", "cross-entropy", metric)[0]
        assert over_seeds == pytest.approx(over_rows)
        assert over_rows != 0
    plain = [record.metrics["top1"] for record in records if record.rule == "none"]
    assert variants["cross-entropy"].values("top1") == pytest.approx(plain)


def table_of(rows: dict[str, np.ndarray]) -> AnswerTable:
    """A table of top-1 and AHD@1 of one seed of each variant, shape (M, 2)."""
    tables = {(name, ANSWER_METRICS): values[None] for name, values in rows.items()}
    return AnswerTable(dict.fromkeys(rows, ()), tables=tables)


def test_held_out_rows_are_those_of_the_validation_split_by_the_model_before_the_last_fit(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    data = blob_data(TOY17, 340)
    entry = Entry(Settings(method="cross-entropy", epochs=2, batch_size=32), ("none", "crm"))
    records = compare(fabric, data, [entry], [0, 1], tmp_path)
    table = AnswerTable.of(records[::-1], tmp_path, held_out=True)  # seeds in ascending order whatever that of records
    for rule_name in ("none", "crm"):
        own = [record for record in records if record.rule == rule_name]
        assert table.values(own[0].name, "ahd_at_1").shape == (2, len(data.samples("val").labels))
    found = table.values("cross-entropy", "top1").mean(axis=1)
    assert found == pytest.approx([record.validation_top1 for record in records if record.rule == "none"])


def test_without_validation_rows_the_held_out_ones_are_those_of_training(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    data = blob_data(TOY17, 340)
    data = features_of(replace(data.dataset, split=np.where(data.dataset.split == "val", "train", data.dataset.split)))
    records = compare(fabric, data, [Entry(Settings(method="cross-entropy", epochs=2, batch_size=32))], [0], tmp_path)
    held = AnswerTable.of(records, tmp_path, held_out=True).values("cross-entropy", "log_loss")
    assert held.shape == (1, len(data.dataset.training_rows))


def test_variants_with_equal_values_differ_by_exactly_0() -> None:
    values = np.random.default_rng(0).random((50, 2))
    table = table_of({"a": values, "b": values + np.array([0, 1])})
    assert table.difference("a", "b", "top1") == (0, 0, 0)
    assert table.difference("a", "b", "ahd_at_1") == pytest.approx((-1, -1, -1))


def test_a_difference_has_the_interval_of_its_rows() -> None:
    generator = np.random.default_rng(0)
    ours = np.stack([generator.random(2000) < 0.8, generator.random(2000)], axis=1).astype(float)
    table = table_of({"ours": ours, "flat": np.zeros_like(ours)})
    mean, low, high = table.difference("ours", "flat", "top1")
    assert mean == pytest.approx(ours[:, 0].mean())
    half = 1.96 * ours[:, 0].std() / np.sqrt(2000)
    assert [low, high] == pytest.approx([mean - half, mean + half], abs=0.003)
    assert table.spread()["ours"]["top1"] == pytest.approx(half)
    assert table.spread()["flat"] == {"top1": 0.0, "ahd_at_1": 0.0}
    assert table.difference("flat", "ours", "ahd_at_1")[0] == pytest.approx(-ours[:, 1].mean())
