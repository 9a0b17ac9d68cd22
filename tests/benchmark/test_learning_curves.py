from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import Entry, few_shot_rows, learning_curves
from hiercos.benchmark.learning_curves import drawn_rows
from hiercos.report import learning_curve_results
from hiercos.training import Settings
from trees import TOY17

ENTRIES = [Entry(Settings(method="cross-entropy", epochs=2, batch_size=16), ("none", "crm"))]


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 8), st.integers(0, 50))
def test_every_class_has_its_shots_or_all_its_samples(labels: list[int], shots: int, seed: int) -> None:
    array = np.array(labels)
    rows = few_shot_rows(array, shots, seed)
    assert rows.tolist() == sorted(set(rows.tolist()))
    for label in set(labels):
        assert (array[rows] == label).sum() == min(shots, labels.count(label))
    assert set(rows.tolist()) <= set(few_shot_rows(array, shots + 1, seed).tolist())


def test_draws_of_different_seeds_differ_and_of_one_seed_agree() -> None:
    labels = np.repeat([0, 1], 50)
    assert few_shot_rows(labels, 5, 0).tolist() == few_shot_rows(labels, 5, 0).tolist()
    assert few_shot_rows(labels, 5, 0).tolist() != few_shot_rows(labels, 5, 1).tolist()


def test_only_the_training_split_is_drawn_without_samples_of_the_root() -> None:
    whole = blob_data(TOY17, 340).dataset
    nodes = np.where((whole.split == "train") & (np.arange(340) % 5 == 0), -1, whole.nodes)
    drawn = replace(whole, nodes=nodes).take(drawn_rows(replace(whole, nodes=nodes), 2, 0))
    assert len(drawn.rows("train")) == 34
    assert (drawn.nodes[drawn.rows("train")] >= 0).all()
    assert [len(drawn.rows(split)) for split in ("val", "test")] == [
        len(whole.rows(split)) for split in ("val", "test")
    ]


def test_curves_have_a_record_for_each_point_rule_and_draw(fabric: Fabric, tmp_path: Path) -> None:
    points = [(1, ENTRIES), (None, ENTRIES)]
    records = learning_curves(fabric, blob_data(TOY17, 340), points, [3, 4], tmp_path)
    assert [(record.data["shots"], record.rule, record.seed) for record in records] == [
        (shots, rule, seed) for shots in (1, "all") for rule in ("none", "crm") for seed in (3, 4)
    ]
    assert {record.data["sizes"]["train"] for record in records} == {17, 204}
    assert {record.learned["rows"] for record in records if record.learned} == {17, 204}
    times = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.json")}
    assert learning_curves(fabric, blob_data(TOY17, 340), points, [3, 4], tmp_path) == records
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.json")} == times
    results = learning_curve_results(records)
    assert [section.title for section in results.sections] == [
        "1 a class (17 training samples)",
        "All 204 training samples",
    ]
    assert [row["shots"] for row in results.rows] == [1] * 4 + ["all"] * 4
    assert results.points == ("1", "all")


def test_more_samples_of_a_class_give_better_answers(fabric: Fabric, tmp_path: Path) -> None:
    entry = Entry(Settings(method="cross-entropy", epochs=30, batch_size=16, learning_rate=0.02))
    records = learning_curves(fabric, blob_data(TOY17, 340), [(1, [entry]), (None, [entry])], [0], tmp_path)
    assert records[0].metrics["top1"] < records[1].metrics["top1"]
    assert records[1].metrics["top1"] == pytest.approx(1, abs=0.1)
