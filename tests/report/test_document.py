from dataclasses import replace

import pytest

from hiercos.metrics.table import metric_spec
from hiercos.records import Record
from hiercos.report import comparison_results, learning_curve_results
from hiercos.report.figures import learning_curve_series
from hiercos.report.page import report_html
from records import record


def point(method: str, shots: int | str, seed: int, top1: float) -> Record:
    made = record(method, seed, top1=top1)
    return replace(made, data={**made.data, "shots": shots})


RESULTS = learning_curve_results(
    [
        point(method, shots, seed, top1 + 0.1 * seed + (shots == "all") / 4)
        for shots in (2, "all")
        for method, top1 in (("hier-cos", 0.4), ("cross-entropy", 0.2))
        for seed in (0, 1)
    ]
)


def test_a_curve_has_the_mean_of_each_point_and_its_interval() -> None:
    ours = learning_curve_series(RESULTS, metric_spec("top1"))[0]
    assert (ours.name, list(ours.x), RESULTS.points) == ("hier-cos", [0, 1], ("2", "all"))
    assert list(ours.y) == pytest.approx([45, 70])
    assert list(ours.intervals) == []  # two draws are too few
    three = learning_curve_results([point("hier-cos", "all", seed, 0.4 + 0.1 * seed) for seed in range(3)])
    (ours,) = learning_curve_series(three, metric_spec("top1"))
    assert ours.intervals[0][1] - ours.y[0] == pytest.approx(4.3027 * 10 / 3**0.5, rel=1e-3)  # t(0.975, 2)


def test_the_page_has_the_curves_and_a_table_for_every_point() -> None:
    page = report_html(RESULTS)
    assert ">Learning curves</h2>" in page
    assert ">2 a class (10 training samples)</h2>" in page
    assert "Accuracy at every level" not in page


def test_the_heading_counts_draws_in_learning_curves_and_seeds_elsewhere() -> None:
    assert RESULTS.heading.endswith("; 2 draws")
    one = [point("hier-cos", "all", 0, 0.4)]
    assert learning_curve_results(one).heading.endswith("; 1 draw")
    assert comparison_results(one).heading.endswith("; 1 seed")


def test_the_verdict_names_every_point() -> None:
    lines = str(RESULTS.verdict).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["2 a class (10 training samples)", "All 10 training samples"]
    assert "hier-cos" in lines[0]
