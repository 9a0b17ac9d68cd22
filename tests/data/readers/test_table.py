import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hiercos.data.readers.table import Table, column_names, read_table
from hiercos.errors import DataError


def written(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def written_parquet(folder: Path, **columns: object) -> Path:
    parquet.write_table(pa.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


def read(path: Path) -> Table:
    options = {"text": "--input-column", "label": "--label-column"}
    return read_table(path, columns=("text", "label"), optional=("split",), options=options)


def fault_of(path: Path) -> str:
    with pytest.raises(DataError) as error:
        read(path)
    return str(error.value).replace(str(path), path.name)


def test_codes_stay_text_and_other_columns_are_left_out(tmp_path: Path) -> None:
    table = read(written(tmp_path, "id,label,text\n1,06.10,a cat\n2,007,a dog\n"))
    assert table.columns == {"text": ("a cat", "a dog"), "label": ("06.10", "007")}


def test_rows_are_counted_by_the_line_they_begin_on(tmp_path: Path) -> None:
    table = read(written(tmp_path, 'text,label\n"two\nlines",a\n\nmore,b\r\n'))
    assert table.columns["text"] == ("two\nlines", "more")
    assert (table.numbers, table.row_name(1)) == ((2, 5), "row 5")


def test_tabs_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    table = read(written(tmp_path, "\ufefftext\tlabel\tsplit\na, b\tx\ttest\n", "a.TSV"))
    assert table.columns == {"text": ("a, b",), "label": ("x",), "split": ("test",)}


def test_a_single_column_may_have_any_name_that_was_asked_for(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "title; subtitle\na; b\n"), columns=("title; subtitle",))
    assert table.columns == {"title; subtitle": ("a; b",)}


def test_objects_are_rows_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    lines = '\ufeff{"text": "a", "label": 7, "id": [1]}\r\n\n{"label": "b", "text": "é \\n"}'
    path = written(tmp_path, lines, "a.jsonl")
    assert (read(path).columns, read(path).numbers) == ({"text": ("a", "é \n"), "label": ("7", "b")}, (1, 3))
    assert column_names(path) == ["text", "label", "id"]


def test_a_key_that_is_missing_or_null_is_an_empty_cell(tmp_path: Path) -> None:
    table = read(written(tmp_path, '{"text": "a", "label": null}\n{"text": "b", "split": "test"}\n', "a.jsonl"))
    assert table.columns == {"text": ("a", "b"), "label": ("", ""), "split": ("", "test")}


def test_parquet_integers_become_codes_and_nulls_become_empty(tmp_path: Path) -> None:
    table = read(written_parquet(tmp_path, label=[7, 12], text=pa.array(["a", None]).dictionary_encode()))
    assert table.columns == {"text": ("a", ""), "label": ("7", "12")}
    assert table.row_name(0) == "row 1"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "the file is empty; expected a header and rows below it"),
        ("a.csv", "\n\n", "the file is empty; expected a header and rows below it"),
        ("a.csv", "text;label\na;b\n", "row 1: expected ',' between columns, it seems to be ';'"),
        ("a.csv", "text\tlabel\na\tb\n", "row 1: expected ',' between columns, it seems to be '\\t'"),
        (
            "a.csv",
            "text,Label\na,b\n",
            "expected a column 'label'; did you mean 'Label'? (--label-column names another)",
        ),
        ("a.csv", "text,label\n", "expected at least one row below the header, got none"),
        ("a.csv", "text,label,text\na,b,c\n", "the column 'text' appears twice"),
        ("a.csv", "text,label\na\nb,c\n", "row 2: expected 2 cells as in the header, got 1"),
        ("a.csv", 'text,label\na,b\n"a,b\n', "row 3: unexpected end of data"),
        ("a.csv", b"text,label\na,b\n\xff,b\n", "row 3: byte 0xff is not UTF-8; expected the file in UTF-8"),
        ("a.jsonl", '{"text": "a"}\n{"text"}', "row 2: expected a JSON object (Expecting ':' delimiter"),
        ("a.jsonl", "[1]", "row 1: expected a JSON object, got list"),
        ("a.jsonl", "\n \n", "the file is empty; expected one object per line"),
        ("a.jsonl", b'{"text": "\xe9"}\n', "row 1: byte 0xe9 is not UTF-8; expected the file in UTF-8"),
        ("a.jsonl", '{"txt": "a", "label": "x"}\n', "expected a column 'text'; did you mean 'txt'? (--input-column"),
        ("a.parquet", "text,label\n", "expected a Parquet file, but"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_by_file_and_row(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    assert fault_of(written(tmp_path, content, name)).startswith(f"{name}: {message}")


def test_every_faulty_row_is_named(tmp_path: Path) -> None:
    assert fault_of(written(tmp_path, "text,label\na\nb,c\nd,e,f\n")).splitlines() == [
        f"a.csv: row {row}: expected 2 cells as in the header, got {cells}" for row, cells in ((2, 1), (4, 3))
    ]
    rows = ({"text": ["a"], "label": 1}, {"text": "b", "label": 1.5}, {"text": True, "label": 1})
    assert fault_of(written(tmp_path, "\n".join(map(json.dumps, rows)), "a.jsonl")).splitlines() == [
        "a.jsonl: row 1: 'text': expected text or an integer, got [\"a\"]",
        "a.jsonl: row 2: 'label': expected text or an integer, got 1.5",
        "a.jsonl: row 3: 'text': expected text or an integer, got true",
    ]


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(40))
    assert fault_of(written(tmp_path, header + "\n")).endswith("c18, c19, … (--label-column names another)")


def test_columns_of_parquet_that_cannot_be_used_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = written_parquet(tmp_path, label=[6.1], text=["a"])
    assert fault_of(numbers) == "a.parquet: column 'label': expected text or integers, got double"
    path = written_parquet(tmp_path, label=["x"], txt=["a"])
    assert fault_of(path) == "a.parquet: expected a column 'text'; did you mean 'txt'? (--input-column names another)"
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    assert fault_of(path) == "a.parquet: reading Parquet needs pyarrow: pip install 'hiercos[parquet]'"
