import importlib.util
import io
import re
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


@pytest.mark.parametrize("width", ["44", "200"])
def test_the_three_main_columns_are_printed_and_the_place_of_the_others(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    tables.print_results(comparison_results(RECORDS), "all.md")
    out = capsys.readouterr().out
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines() if "  " in line]
    assert [row[0] for row in rows] == [
        *("method", "cross-entropy", "hier-cos", "hier-cos + crm"),
        *("method", "hier-cos", "hier-cos + crm"),
    ]
    assert rows[0] == ["method", "top-1 %", "AHD@1", "HOPS"]
    assert [row[3] for row in rows] == ["HOPS", "0.400", "0.900 *", "0.800", "HOPS", "+0.500", "+0.400"]
    assert out.endswith("\nAll columns: all.md.\n\n")


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
