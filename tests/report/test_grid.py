import math
from collections.abc import Sequence

import pytest

from hiercos.report import COLUMNS, Grid, Variant, summarize
from hiercos.report.grid import Cell, column_merits, difference_grid, figure_grid
from records import record

KEYS = [column.name for column in COLUMNS]


def drawn(variants: Sequence[Variant]) -> Grid:
    return figure_grid(variants, COLUMNS, subject="subject", title="title", corner="method")


def cells(grid: Grid, key: str) -> list[Cell]:
    return [row[KEYS.index(key)] for row in grid.rows]


def test_the_best_is_the_highest_or_the_lowest_as_the_column_wants() -> None:
    grid = drawn(summarize([record("a", hops=0.9, ahd_at_5=2.0), record("b", hops=0.8, ahd_at_5=1.0)]))
    assert [cell.merit for cell in cells(grid, "hops")] == [1, 0]
    assert [cell.merit for cell in cells(grid, "ahd_at_5")] == [0, 1]
    assert [cell.merit for cell in cells(grid, "fpa")] == [0, 0]  # equal: nobody is best


def test_nobody_is_best_where_a_figure_is_undefined() -> None:
    grid = drawn(summarize([record("a", mistake_severity=math.nan), record("b", mistake_severity=3.0)]))
    assert cells(grid, "mistake_severity") == [Cell(""), Cell("3.00")]


def test_equals_share_the_mark() -> None:
    assert column_merits([0.9, 0.9, 0.8], higher_is_better=True) == [1, 1, 0]


def test_figures_above_the_middle_are_shaded_by_their_distance_from_it() -> None:
    assert column_merits([1.0, 2.0, 3.0, 4.0, 5.0], higher_is_better=False) == pytest.approx([1, 0.5, 0, 0, 0])
    colours = [Cell("", merit=merit).colour for merit in (1, 0.5, 0, -1)]
    assert colours == ["B6D7A8", "DAEBD4", None, "F4CCCC"]


def test_a_cell_shows_percent_and_half_width_where_there_is_one() -> None:
    variants = summarize([record("a", 0, top1=0.86, hops=0.9), record("a", 1, top1=0.87, hops=0.9), record("b")])
    (first, *_), (one_seed, *_) = drawn(variants).rows
    assert first.text == "86.50 ±6.35"  # t(0.975, 1) = 12.706, deviation 0.707, over the root of 2
    assert one_seed.text == "50.00"
    assert Cell("").text == "–"


def test_differences_are_certain_only_where_the_interval_is_off_zero() -> None:
    records = [record("flat", seed, hops=0.4 + seed / 10, ahd_at_5=1.0, top1=0.8) for seed in (0, 1)]
    records += [record("tree", seed, hops=0.9 + seed / 10, ahd_at_5=1.5, top1=0.8 - seed / 10) for seed in (0, 1)]
    flat, tree = summarize(records)
    grid = difference_grid([tree], flat, COLUMNS, subject="subject", title="title", corner="method")
    assert grid.names == ("tree",)
    assert cells(grid, "hops") == [Cell("+0.500", "0.000", 1)]
    assert cells(grid, "ahd_at_5") == [Cell("+0.500", "0.000", -1)]
    assert cells(grid, "top1") == [Cell("-5.00", "63.53", 0)]


def test_one_seed_makes_no_difference_certain() -> None:
    flat, tree = summarize([record("flat", hops=0.1), record("tree", hops=0.9)])
    grid = difference_grid([tree], flat, COLUMNS, subject="subject", title="title", corner="method")
    assert cells(grid, "hops") == [Cell("+0.800")]
