"""Answers of any depth, measured: rows, operating curves, reliability."""

from itertools import pairwise

import numpy as np
import pytest

from hiercos.benchmark import LabelledPosterior, curve_areas, curve_rows, node_answer_rows, reliability_rows
from hiercos.decisions import Posterior, rule
from trees import TOY, random_tree


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
    assert [row["samples"] for row in reliability_rows(sure) if row["confidence"] == "0.9 to 1.0"] == [4, 4]
