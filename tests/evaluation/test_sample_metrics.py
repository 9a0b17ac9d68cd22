from itertools import pairwise

import numpy as np
import pytest

from hiercos.decisions import ROWS_AT_ONCE, Posterior, rule
from hiercos.evaluation import LabelledPosterior, curve_areas, curve_rows, node_answer_rows, reliability_rows
from hiercos.evaluation.sample_metrics import class_rows, node_rows, posterior_metrics, sample_metrics
from hiercos.evaluation.scores import ScoreSet
from hiercos.taxonomy import IntArray, Taxonomy, label_indices
from trees import TOY, TOY17, random_tree

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


def test_probabilities_in_several_batches_have_the_metrics_of_their_order() -> None:
    random, count = np.random.default_rng(0), ROWS_AT_ONCE + 300
    scores, labels = random.dirichlet(np.ones(17), count), random.integers(17, size=count)
    found = posterior_metrics(Posterior(scores, TOY17), labels, rule("none"))
    expected = sample_metrics(ScoreSet(scores, labels, 17), TOY17)
    known = [column for column, name in enumerate(found.names) if name != "log_loss"]
    np.testing.assert_array_equal(found.values[:, known], expected.values[:, known])
    own = scores[np.arange(count), labels]
    np.testing.assert_allclose(found.columns(["log_loss"])[:, 0], -np.log(own), rtol=1e-6)


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


def mixed_nodes(taxonomy: Taxonomy, seed: int, rows: int = 80) -> IntArray:
    """Label nodes, shape (M,): half of them of classes, the others of any depth, -1 for the root."""
    generator = np.random.default_rng(seed)
    of_classes = taxonomy.leaves[generator.integers(taxonomy.num_classes, size=rows // 2)]
    return np.concatenate([of_classes, generator.integers(-1, taxonomy.num_nodes, size=rows // 2)])


@pytest.mark.parametrize("seed", range(5))
def test_node_rows_count_labels_of_any_depth_at_the_levels_they_have(seed: int) -> None:
    taxonomy = random_tree(seed, 30)
    nodes = mixed_nodes(taxonomy, seed)
    answers = np.random.default_rng(seed + 100).integers(taxonomy.num_classes, size=len(nodes))
    predicted = ScoreSet(np.eye(taxonomy.num_classes)[answers], label_indices(nodes, taxonomy), taxonomy.num_classes)
    counted: dict[tuple[int, str], list[tuple[bool, bool]]] = {}  # by level and node, one sample at a time
    for node, answer in zip(nodes.tolist(), answers, strict=True):
        given = taxonomy.path(int(taxonomy.leaves[answer]))
        for level, own in enumerate(taxonomy.path(node) if node >= 0 else (), start=1):
            for name in ("(all)", taxonomy.path_text(own)):
                counted.setdefault((level, name), []).append((own in given, node in taxonomy.leaves))
    found = {(row["level"], row["node"]): row for row in node_rows(sample_metrics(predicted, taxonomy), taxonomy)}
    assert found.keys() == counted.keys()
    for key, row in found.items():
        right, of_class = np.array(counted[key]).T
        assert (row["samples"], row["with_class"]) == (len(right), of_class.sum())
        assert row["accuracy"] == pytest.approx(right.mean())
    assert any(row["with_class"] < row["samples"] for row in found.values())


@pytest.mark.parametrize("seed", range(5))
def test_reliability_counts_labels_of_any_depth_at_the_levels_they_have(seed: int) -> None:
    taxonomy = random_tree(seed, 30)
    nodes = mixed_nodes(taxonomy, seed)
    posterior = Posterior(
        np.random.default_rng(seed).dirichlet(np.full(taxonomy.num_classes, 0.2), size=len(nodes)), taxonomy
    )
    found = {
        row["level"]: row for row in reliability_rows(LabelledPosterior(posterior, nodes)) if "all" in row["confidence"]
    }
    for level in range(1, taxonomy.height + 1):
        at_level = [taxonomy.path(node)[:level][-1] for node in range(taxonomy.num_nodes)]  # a class stays itself
        choices = sorted({at_level[leaf] for leaf in taxonomy.leaves})
        pairs = [
            (max(choices, key=lambda choice: probabilities[choice]) == at_level[node], max(probabilities[choices]))
            for node, probabilities in zip(nodes.tolist(), posterior.nodes, strict=True)
            if node >= 0 and (node in taxonomy.leaves or len(taxonomy.path(node)) >= level)
        ]
        right, confidence = np.array(pairs, dtype=float).T
        assert found[level]["samples"] == len(pairs)
        assert found[level]["accuracy"] == pytest.approx(right.mean())
        assert found[level]["mean_confidence"] == pytest.approx(confidence.mean())


def test_a_level_that_no_label_has_is_no_row_of_the_reliability() -> None:
    tested = LabelledPosterior(Posterior([[0.5, 0.3, 0.2]], TOY), np.array([0]))  # a pet
    assert {row["level"] for row in reliability_rows(tested)} == {1}


def sampled(rows: int = 300) -> LabelledPosterior:
    """Samples whose labels were drawn from their probabilities."""
    taxonomy, generator = random_tree(3, 40), np.random.default_rng(0)
    probabilities = generator.dirichlet(np.full(taxonomy.num_classes, 0.2), size=rows)
    classes = [generator.choice(len(row), p=row) for row in probabilities]
    return LabelledPosterior(Posterior(probabilities, taxonomy), taxonomy.leaves[classes])


def test_a_row_has_the_mean_of_its_metric_and_an_interval_around_it() -> None:
    tested = LabelledPosterior(Posterior([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], TOY), np.array([2, 3]))
    rows = {row["metric"]: row for row in node_answer_rows(tested, rule("back-off", confidence=0.75))}
    assert (rows["precision"]["value"], rows["precision"]["samples"]) == (1.0, 1)  # a pet; the other cannot be said
    assert rows["depth"]["value"] == 0.5
    assert float(rows["depth"]["low"]) <= 0.5 <= float(rows["depth"]["high"])


def test_a_curve_falls_in_precision_as_it_rises_in_coverage() -> None:
    tested = sampled()
    rules = [("back-off", value, rule("back-off", confidence=value)) for value in (0.99, 0.7, 0.01)]
    rows = curve_rows(tested, [*rules, ("majority", float("nan"), rule("majority"))])
    assert [row["rule"] for row in rows] == ["back-off"] * 3 + ["majority"]
    coverage, containment = ([float(row[name]) for row in rows[:3]] for name in ("coverage", "containment"))
    assert coverage == sorted(coverage)
    assert containment == sorted(containment, reverse=True)
    assert all(
        float(row["containment_low"]) <= float(row["containment"]) <= float(row["containment_high"]) for row in rows
    )
    areas = curve_areas(rows)
    assert list(areas) == ["back-off"]
    points = [(0.0, 1.0), *zip(coverage, containment, strict=True), (1.0, containment[-1])]
    by_hand = sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))
    assert areas["back-off"] == pytest.approx(by_hand)


def test_drawn_labels_are_reliable_and_sure_mistakes_are_not() -> None:
    everywhere = {row["level"]: row for row in reliability_rows(sampled(3000)) if row["confidence"] == "(all)"}
    assert all(float(row["calibration_error"]) < 0.05 for row in everywhere.values())
    sure = LabelledPosterior(Posterior([[0.9, 0.0, 0.1]] * 4, TOY), np.array([2, 3, 3, 4]))
    rows = [row for row in reliability_rows(sure) if row["confidence"] == "(all)"]
    assert [row["accuracy"] for row in rows] == [0.75, 0.25]
    assert [row["calibration_error"] for row in rows] == pytest.approx([0.15, 0.65])
    assert [row["samples"] for row in reliability_rows(sure) if row["confidence"] == "0.8 to 0.9"] == [4, 4]
