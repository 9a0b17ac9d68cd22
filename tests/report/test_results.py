import csv
import math

from hiercos.report import COLUMNS, best_lines, cell, results_csv, summarize
from hiercos.report.intervals import Estimate
from records import record


def test_results_csv_has_the_promised_columns_and_a_row_per_run() -> None:
    text = results_csv([record("hier-cos", 0, top1=0.75), record("cross-entropy", 1, mistake_severity=math.nan)])
    rows = list(csv.DictReader(text.splitlines()))
    promised = (
        "method,rule,seed,top1,mistake_severity,ahd_at_1,ahd_at_5,ahd_at_20,hops,hops_at_5,hops_at_20,fpa,train_seconds"
    )
    assert text.splitlines()[0] == promised
    assert [(row["method"], row["rule"], row["seed"]) for row in rows] == [
        ("hier-cos", "none", "0"),
        ("cross-entropy", "none", "1"),
    ]
    assert float(rows[0]["top1"]) == 0.75
    assert rows[1]["mistake_severity"] == "nan"


def test_lines_keep_the_order_of_methods_and_sort_the_seeds() -> None:
    lines = summarize([record("b", 1, hops=0.1), record("a", 0), record("b", 0, hops=0.9)])
    assert [line.name for line in lines] == ["b", "a"]
    assert lines[0].values["hops"] == [0.9, 0.1]


def test_the_best_is_the_highest_or_the_lowest_as_the_column_wants() -> None:
    lines = summarize([record("a", hops=0.9, ahd_at_5=2.0), record("b", hops=0.8, ahd_at_5=1.0)])
    best = best_lines(lines)
    assert (best["hops"], best["ahd_at_5"]) == ({0}, {1})
    assert best["fpa"] == set()  # equal: nobody is best


def test_nobody_is_best_where_a_figure_is_undefined() -> None:
    lines = summarize([record("a", mistake_severity=math.nan), record("b", mistake_severity=3.0)])
    assert best_lines(lines)["mistake_severity"] == set()


def test_equals_share_the_mark() -> None:
    lines = summarize([record("a", hops=0.9), record("b", hops=0.9), record("c", hops=0.8)])
    assert best_lines(lines)["hops"] == {0, 1}


def test_a_rule_is_part_of_the_name() -> None:
    assert [line.name for line in summarize([record(rule="crm")])] == ["hier-cos + crm"]


def test_a_cell_shows_percent_and_half_width_where_there_is_one() -> None:
    top1, hops = COLUMNS[0], COLUMNS[5]
    assert cell(Estimate(0.8612, 0.0034), top1) == "86.12 ±0.34"
    assert cell(Estimate(0.9, math.nan), hops) == "0.900"
    assert cell(Estimate(math.nan, math.nan), hops) == "–"
