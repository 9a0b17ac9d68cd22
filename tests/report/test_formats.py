"""The output formats of the same results."""

import csv
import json
import math
import re
from pathlib import Path

import pytest

from hiercos.report import comparison_results, results_text, write_results
from hiercos.report.formats import latex_text
from records import record

RECORDS = [
    *(record("cross-entropy", seed, hops=0.4 + seed / 10, mistake_severity=math.nan) for seed in (0, 1)),
    *(record("hier_cos", seed, hops=0.9 + seed / 10) for seed in (0, 1)),
    *(record("hier_cos", seed, rule="crm", hops=0.8 + seed / 10) for seed in (0, 1)),
]
RESULTS = comparison_results(RECORDS)


def test_the_markdown_has_both_tables_with_the_best_in_bold() -> None:
    text = results_text(RESULTS, "markdown")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    assert [row[0].strip() for row in rows] == [
        *("method", "cross-entropy", "hier_cos", "hier_cos + crm"),
        *("method", "hier_cos", "hier_cos + crm"),
    ]
    assert {len(row) for row in rows} == {15}
    assert rows[0][7].strip() == "HOPS ↑"
    assert [row[7].strip() for row in rows[1:4]] == ["0.450 ±0.635", "**0.950 ±0.635**", "0.850 ±0.635"]
    assert [row[7].strip() for row in rows[5:]] == ["**+0.500 ±0.000**", "**+0.400 ±0.000**"]
    assert rows[1][3].strip() == "–"
    assert "toys &lt;b>: 30 classes" in text


def test_the_latex_is_well_formed_and_shades_the_best() -> None:
    text = results_text(RESULTS, "latex")
    assert re.findall(r"\\(begin|end)\{([a-z*]+)\}", text) == 2 * [
        ("begin", "table*"), ("begin", "tabular"), ("end", "tabular"), ("end", "table*")
    ]  # fmt: skip
    bare = re.sub(r"\\[{}%&$#_]", "", text)  # what is left has a meaning to LaTeX
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert [row.count("&") for row in rows] == [14] * 7
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 2
    assert r"& \cellcolor[HTML]{B6D7A8}$0.950_{\pm 0.635}$ &" in text
    assert r"& \cellcolor[HTML]{B6D7A8}$+0.500_{\pm 0.000}$ &" in text
    assert r"hier\_cos + crm & $50.00_{\pm 0.00}$ &" in text
    assert r"\textbf{macro \%} $\uparrow$ & \textbf{MS} $\downarrow$" in text
    assert r"toys $<$b$>$" in text


def test_signs_that_mean_something_to_latex_are_written_out() -> None:
    assert latex_text(r"50% & a_b \ {x}") == r"50\% \& a\_b \textbackslash{} \{x\}"


def test_the_json_holds_rows_means_and_differences() -> None:
    values = json.loads(results_text(comparison_results(RECORDS), "json"))
    assert values["seeds"] == [0, 1]
    assert len(values["rows"]) == 6
    assert values["rows"][0]["mistake_severity"] is None
    (table,) = values["tables"]
    half_width = 12.7062 * 0.05
    assert table["variants"][1]["hops"] == {
        "mean": pytest.approx(0.95),
        "half_width": pytest.approx(half_width, rel=1e-4),
    }
    assert table["reference"] == "cross-entropy"
    assert [line["name"] for line in table["differences"]] == ["hier_cos", "hier_cos + crm"]
    assert table["differences"][0]["hops"]["mean"] == pytest.approx(0.5)
    assert table["differences"][0]["mistake_severity"]["mean"] is None


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_tables_say_which_interval_they_have(form: str) -> None:
    assert "sample deviation" in results_text(RESULTS, form)


def test_differences_are_to_the_reference_that_was_named() -> None:
    results = comparison_results(RECORDS, reference="hier_cos + crm")
    (section,) = results.sections
    assert section.reference is section.variants[2]
    grid = results.differences(section)
    assert grid is not None
    caption, caution = "Test split: differences to hier_cos + crm, seed by seed", "with two seeds these say little"
    assert grid.caption == f"{caption}; {caution}, use three or more"
    assert grid.names == ("cross-entropy", "hier_cos")


def test_without_a_flat_method_nothing_is_set_against_anything_unless_asked() -> None:
    assert len(comparison_results(RECORDS[2:]).grids()) == 1
    assert len(comparison_results(RECORDS[2:], reference="hier_cos").grids()) == 2


def test_a_folder_gets_the_rows_the_results_and_the_report(tmp_path: Path) -> None:
    write_results(RESULTS, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"results.csv", "results.json", "report.html"}
    assert len(list(csv.DictReader((tmp_path / "results.csv").read_text().splitlines()))) == 6
    assert (tmp_path / "results.json").read_text() == results_text(RESULTS, "json")
