import numpy as np
import pytest

from hiercos.benchmark.predictions import class_rows, node_rows, sample_metrics
from hiercos.predictions.scores import ScoreSet
from trees import TOY17

A2, D1, D2 = (TOY17.class_names.index(name) for name in ("A2", "D1", "D2"))


def predictions(labels: list[int], answers: list[int], depth: object = 17) -> ScoreSet:
    scores = np.zeros((len(labels), 17), dtype=np.float32)
    scores[np.arange(len(labels)), answers] = 1.0
    return ScoreSet(scores, np.array(labels), depth)


def test_values_that_need_more_ranked_classes_are_unknown() -> None:
    samples = sample_metrics(predictions([D1, D1], [D1, D2], depth=5), TOY17)
    known = {name for name, column in zip(samples.names, samples.values.T, strict=True) if not np.isnan(column).all()}
    assert {"hops_at_5", "ahd_at_5", "correct_order_at_5", "top1", "fpa", "accuracy_level_4"} <= known
    assert not known & {"hops", "hops_at_20", "ahd_at_20", "correct_order_at_10", "correct_order_all", "mrr"}


def test_samples_may_be_ranked_to_different_depths_and_count_where_they_are_deep_enough() -> None:
    samples = sample_metrics(predictions([D1, D1, D1], [D1, D2, D1], depth=np.array([1, 5, 0])), TOY17)
    top1, ahd_at_5 = samples.columns(["top1", "ahd_at_5"]).T
    assert top1.tolist()[:2] == [1.0, 0.0]
    assert np.isnan(top1).tolist() == [False, False, True]
    assert np.isnan(ahd_at_5).tolist() == [True, False, True]
    assert [row["accuracy"] for row in node_rows(samples, TOY17) if row["node"] == "(all)"] == [1.0, 1.0, 1.0, 0.5]


def test_class_rows_hold_the_means_of_their_own_samples() -> None:
    rows = class_rows(sample_metrics(predictions([D1, A2, D1, D1], [D2, A2, D1, A2]), TOY17), TOY17)
    assert [(row["class"], row["samples"]) for row in rows] == [("A2", 1), ("D1", 3)]
    assert rows[1]["top1"] == pytest.approx(1 / 3)
    assert rows[1]["mistake_severity"] == pytest.approx((1 + 4) / 2)


def test_node_rows_leave_out_samples_without_that_level() -> None:
    rows = node_rows(sample_metrics(predictions([D1, A2, D1], [D2, A2, A2]), TOY17), TOY17)
    found = [(row["level"], row["node"], row["samples"], row["accuracy"]) for row in rows]
    assert found == [
        (1, "(all)", 3, pytest.approx(2 / 3)),
        (1, "A2", 1, 1.0),
        (1, "A1", 2, 0.5),
        (2, "(all)", 2, 0.5),
        (2, "A1 > B1", 2, 0.5),
        (3, "(all)", 2, 0.5),
        (3, "A1 > B1 > C1", 2, 0.5),
        (4, "(all)", 2, 0.0),
        (4, "A1 > B1 > C1 > D1", 2, 0.0),
    ]
