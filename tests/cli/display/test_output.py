"""Rows in every format: cells that a spreadsheet would run, control characters, line ends, and labels for FiftyOne."""

import csv
import json
import os
from pathlib import Path

import pytest

from hiercos.cli.display.output import emit, fiftyone_text, streamed

DANGEROUS = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1"]
HARMLESS = ["cat", "1-2", "a=b", "", "'=1"]


@pytest.mark.parametrize("safe", [True, False])
def test_rows_and_streams_are_protected_if_asked_for(tmp_path: Path, safe: bool) -> None:
    expected = [f"'{text}" if safe else text for text in DANGEROUS] + HARMLESS
    emit([{"text": text} for text in DANGEROUS + HARMLESS], "csv", tmp_path / "rows.csv", csv_safe=safe)
    with streamed("csv", tmp_path / "stream.csv", csv_safe=safe) as write:
        write({"text": DANGEROUS})
        write({"text": HARMLESS})
    for name in ("rows.csv", "stream.csv"):
        with (tmp_path / name).open(newline="") as file:
            assert [row[0] if row else "" for row in csv.reader(file)][1:] == expected


def test_a_table_shows_control_characters_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"name": "a\x1b[31m"}], "table", None)
    assert r"a\x1b[31m" in capsys.readouterr().out


def test_a_table_has_a_dash_for_no_value_among_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"name": "cat", "score": 0.25}, {"name": "dog", "score": None}], "table", None)
    assert capsys.readouterr().out.splitlines()[-1] == "dog       –"


def test_names_in_brackets_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"class": "cat [domestic]", "[x]": "dog [/]"}], "table", None)
    out = capsys.readouterr().out
    assert "cat [domestic]" in out
    assert "dog [/]" in out
    assert "[x]" in out


def test_a_label_stands_for_each_image_by_its_absolute_path() -> None:
    row = {"row": 1, "image": "photos/a.jpg", "kind": "pet", "level_2": "cat", "level_3": "", "class": "cat"}
    rows = [{**row, "id": "c1", "score": -0.5, "confidence": 0.9}]
    assert json.loads(fiftyone_text(rows)) == {
        "labels": {
            os.path.abspath("photos/a.jpg"): {
                "label": "cat",
                "confidence": 0.9,
                "attributes": {"kind": "pet", "level_2": "cat", "id": "c1"},
            }
        }
    }
