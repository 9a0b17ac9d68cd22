import io
from pathlib import Path

import pytest
from rich.console import Console

from hiercos.cli.display.output import emit
from hiercos.cli.display.tables import TextTable, fitted_text, terminal_width

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


def test_the_width_is_that_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    assert terminal_width() == 123


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
