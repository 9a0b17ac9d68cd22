import csv
import json
from dataclasses import replace

from hiercos.paper.ablation import ablation_results
from hiercos.paper.axes import AXIS_DESCRIPTIONS, Setting
from hiercos.records import Record
from hiercos.report import results_text
from hiercos.report.page import report_html
from records import record


def run(seed: int, *, alpha: float = 0.05, **figures: float) -> Record:
    found = record("hier-cos", seed, **figures)
    return replace(found, config={**found.config, "options": {"width": 7, "alpha": alpha}})


OFF = [run(seed, alpha=0, subspace_cosine=0.87, hops=0.8) for seed in (0, 1)]
PUBLISHED = [run(seed, subspace_cosine=0.97, hops=0.9) for seed in (0, 1)]
NEITHER = [run(seed, subspace_cosine=0.5, hops=0.7) for seed in (0, 1)]
GROUPS = [
    (Setting("regulariser", "off", {"alpha": 0.0}), OFF),
    (Setting("regulariser", "published", {}), PUBLISHED),
    (Setting("span", "both", {}), PUBLISHED),
    (Setting("span", "neither", {"ancestors": False}), NEITHER),
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
    groups = [*GROUPS[2:], (Setting("span", "more", {"ancestors": False}), better)]
    assert "span: against both (published), more gains 0.050 of HOPS" in str(ablation_results(groups).verdict)


def test_the_rows_name_axis_setting_and_seed() -> None:
    results = ablation_results(GROUPS)
    rows = list(csv.DictReader(results_text(results, "csv").splitlines()))
    assert [(row["axis"], row["setting"], row["seed"]) for row in rows[:3]] == [
        ("regulariser", "off", "0"), ("regulariser", "off", "1"), ("regulariser", "published", "0")
    ]  # fmt: skip
    assert rows[0]["subspace_cosine"] == "0.87"
    values = json.loads(results_text(results, "json"))
    assert [(table["title"], table["reference"]) for table in values["tables"]] == [
        ("regulariser", "published"), ("span", "both (published)")
    ]  # fmt: skip


def test_the_page_has_a_part_for_every_axis() -> None:
    text = report_html(ablation_results(GROUPS))
    assert text.index(">regulariser</h2>") < text.index(AXIS_DESCRIPTIONS["regulariser"]) < text.index(">span</h2>")
    assert text.count("Cosine: between an embedding") == 1
    assert "Methods: hier-cos: width 7." in text  # what differs between the settings is no option of all
