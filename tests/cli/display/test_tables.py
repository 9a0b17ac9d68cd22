import importlib.util
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from hiercos.cli.commands.compare import VariantOptions
from hiercos.cli.display import tables
from hiercos.cli.display.output import emit
from hiercos.cli.display.tables import TextTable, fitted_text
from hiercos.cli.options.comparison import ResultOptions
from hiercos.cli.options.groups import OptionError
from hiercos.report import comparison_results
from records import record

RECORDS = [record("cross-entropy", hops=0.4), record("hier-cos", hops=0.9), record("hier-cos", rule="crm", hops=0.8)]


def printed_rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Cells of the lines of all printed tables."""
    lines = capsys.readouterr().out.splitlines()
    return [re.split(r"\s{2,}", line.strip()) for line in lines if "  " in line]


def test_methods_are_rows_where_there_is_room(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    tables.print_results(comparison_results(RECORDS), "all.md")
    rows = printed_rows(capsys)
    assert [row[0] for row in rows] == [
        *("method", "cross-entropy", "hier-cos", "hier-cos + crm"),
        *("method", "hier-cos", "hier-cos + crm"),
    ]
    assert [row[7] for row in rows] == ["HOPS", "0.400", "0.900 *", "0.800", "HOPS", "+0.500", "+0.400"]
    assert [row[8] for row in rows] == ["top-5 %", *["50.00"] * 3, "top-5 %", *["+0.00"] * 2]


def test_a_missing_number_of_epochs_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    solved = replace(record("logistic"), choice="variance 1", history=[{"loss": 1.0}])
    trained = replace(record("cross-entropy"), history=[{"loss": 1.0}, {"loss": 0.5}])
    tables.print_results(comparison_results([trained, solved]), "all.md")
    out = capsys.readouterr().out
    assert "\nepochs –: a solver finds the weights, without epochs\n" in out
    tables.print_results(comparison_results([trained]), "all.md")
    assert "without epochs" not in capsys.readouterr().out


def test_methods_are_columns_where_only_these_fit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    tables.print_results(comparison_results(RECORDS), "all.md")
    rows = printed_rows(capsys)
    assert rows[0] == ["method", "cross-entropy", "hier-cos", "hier-cos + crm"]
    assert ["HOPS", "0.400", "0.900 *", "0.800"] in rows
    assert ["HOPS", "+0.500", "+0.400"] in rows


def test_the_main_figures_are_shown_where_neither_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    tables.print_results(comparison_results(RECORDS), "all.md")
    out = capsys.readouterr().out
    table = [line for line in out.splitlines() if "  " in line or "─" in line]
    assert max(map(len, table)) <= 44
    assert [line.split("  ")[0] for line in table[2:5]] == ["cross-entropy", "hier-cos", "hier-cos + crm"]
    assert re.split(r"\s{2,}", table[0]) == ["method", "top-1 %", "HOPS", "top-5 %"]
    assert "\nLeft out for a width of 44: macro %, MS, " in out
    assert ". All columns: all.md.\n" in out


def test_two_seeds_come_with_a_warning() -> None:
    seeds = [
        record(name, seed=seed, hops=0.4 + seed / 10) for name in ("cross-entropy", "hier-cos") for seed in range(3)
    ]
    warning = "with two seeds these say little, use three or more"
    for count in (1, 2, 3):
        grids = comparison_results([each for each in seeds if each.seed < count]).grids()
        assert [warning in grid.caption for grid in grids] == [count == 2] * 2


def test_parquet_without_pyarrow_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else real(name))
    ResultOptions(format="csv").check()
    with pytest.raises(OptionError, match=r"--format parquet needs pyarrow \(pip install 'hiercos\[parquet\]'\)"):
        ResultOptions(format="parquet").check()


def test_the_default_as_a_reference_has_its_rule() -> None:
    rules = {"cross-entropy": ("none",), "committee": ("none", "crm", "auto")}
    found = [
        VariantOptions(reference=name).named_reference(rules)
        for name in ("default", "committee+crm", "default + default", None)
    ]
    assert found == ["committee + auto", "committee + crm", "committee + auto", None]


WORDS = "a name that is much longer than the others and is wrapped"
ROWS = [
    {"name": WORDS, "first": 0.25, "second": 12.5, "third": 100.0},
    {"name": "b", "first": 1, "second": 2, "third": 3},
]


def text_of(width: int) -> str:
    rows = [list(ROWS[0]), *([str(value) for value in row.values()] for row in ROWS)]
    return fitted_text(TextTable(rows, [False, True, True, True]), width, "--format csv")


@pytest.mark.parametrize("width", range(30, 100, 7))
def test_no_line_is_wider_than_the_terminal_and_every_column_is_shown_or_named(width: int) -> None:
    *lines, last = text_of(width).splitlines()
    note = last if last.startswith("Left out") else ""
    assert max(map(len, lines if note else [*lines, last])) <= width
    assert all((name in lines[0]) != (name in note) for name in ("first", "second", "third"))
    assert bool(note) == ("third" not in lines[0])
    assert all(line == line.rstrip() for line in lines)


def test_texts_are_wrapped_before_a_column_is_left_out() -> None:
    text = text_of(40)
    assert "Left out" not in text
    assert "100.0" in text
    letters = "".join(line[:18] for line in text.splitlines()[2:-1]).replace(" ", "")
    assert WORDS.replace(" ", "") in letters.replace("0", "").replace(".", "")


def test_a_file_has_all_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    emit(ROWS, "table", tmp_path / "table.txt")
    lines = (tmp_path / "table.txt").read_text(encoding="utf-8").splitlines()
    assert lines[2].split() == [*WORDS.split(), "0.25", "12.5", "100.0"]


def test_colours_are_left_out_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TextTable([["name"], ["best"]], [False], [[""], ["bold green"]])

    def printed() -> str:
        stream = io.StringIO()
        table.print(Console(file=stream, force_terminal=True, width=40))
        return stream.getvalue()

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;32mbest" in printed()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "32m" not in printed()
