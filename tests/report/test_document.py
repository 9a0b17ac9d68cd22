import csv
import json
from dataclasses import replace

import pytest

from hiercos.metric_table import metric_spec
from hiercos.records import Record
from hiercos.report import AblationGroup, ablation_results, comparison_results, learning_curve_results, results_text
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


def run(seed: int, *, alpha: float = 0.05, **figures: float) -> Record:
    found = record("hier-cos", seed, **figures)
    return replace(found, config={**found.config, "options": {"width": 7, "alpha": alpha}})


OFF = [run(seed, alpha=0, subspace_cosine=0.87, hops=0.8) for seed in (0, 1)]
PUBLISHED = [run(seed, subspace_cosine=0.97, hops=0.9) for seed in (0, 1)]
NEITHER = [run(seed, subspace_cosine=0.5, hops=0.7) for seed in (0, 1)]
GROUPS = [
    AblationGroup("regulariser", "Its form.", "off", False, OFF),
    AblationGroup("regulariser", "Its form.", "published", True, PUBLISHED),
    AblationGroup("span", "Axes.", "both", True, PUBLISHED),
    AblationGroup("span", "Axes.", "neither", False, NEITHER),
]


def test_every_axis_has_its_tables_beside_the_published_setting() -> None:
    results = ablation_results(GROUPS)
    grids = results.grids()
    assert [(grid.caption.partition(",")[0], grid.names) for grid in grids] == [
        ("regulariser: mean ± half of its 95% interval over 2 seeds (Student's t", ("off", "published")),
        ("regulariser: differences to published", ("off",)),
        ("span: mean ± half of its 95% interval over 2 seeds (Student's t", ("both (published)", "neither")),
        ("span: differences to both (published)", ("neither",)),
    ]
    headings = [column.heading for column in grids[0].columns]
    assert [row[headings.index("cosine")].mean for row in grids[0].rows] == ["0.870", "0.970"]
    assert grids[1].rows[0][headings.index("cosine")].text == "-0.100 ±0.000"


def test_the_cosine_with_and_without_the_regulariser_is_said() -> None:
    first, second = str(ablation_results(GROUPS).verdict).splitlines()
    assert first == (
        "regulariser: no setting has a higher HOPS than published; "
        "mean cosine with the regulariser 0.970, without 0.870."
    )
    assert second == "span: no setting has a higher HOPS than both (published)."


def test_a_setting_with_more_hops_is_said_with_its_intervals() -> None:
    better = [run(seed, hops=0.95, subspace_cosine=0.9) for seed in (0, 1)]
    groups = [*GROUPS[2:], AblationGroup("span", "Axes.", "more", False, better)]
    assert "span: against both (published), more gains 0.050 of HOPS" in str(ablation_results(groups).verdict)


def test_the_rows_name_axis_setting_and_seed() -> None:
    results = ablation_results(GROUPS, interval="published")
    rows = list(csv.DictReader(results_text(results, "csv").splitlines()))
    assert [(row["axis"], row["setting"], row["seed"]) for row in rows[:3]] == [
        ("regulariser", "off", "0"), ("regulariser", "off", "1"), ("regulariser", "published", "0")
    ]  # fmt: skip
    assert rows[0]["subspace_cosine"] == "0.87"
    values = json.loads(results_text(results, "json"))
    assert values["interval"] == "published"
    assert [(table["title"], table["reference"]) for table in values["tables"]] == [
        ("regulariser", "published"), ("span", "both (published)")
    ]  # fmt: skip


def test_the_page_has_a_part_for_every_axis() -> None:
    from hiercos.report.page import report_html

    text = report_html(ablation_results(GROUPS))
    assert text.index(">regulariser</h2>") < text.index("Its form.") < text.index(">span</h2>")
    assert text.count("Cosine: between an embedding") == 1
    assert "Methods: hier-cos: width 7." in text  # what differs between the settings is no option of all
