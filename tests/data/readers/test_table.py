import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hiercos.data.readers.table import Table, read_table
from hiercos.errors import DataError


def written(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def written_parquet(folder: Path, columns: dict) -> Path:
    path = folder / "a.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def read(path: Path) -> Table:
    options = {"text": "--text-column", "label": "--label-column"}
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.csv: the file is empty; expected a header and rows below it"),
        ("\n\n", "a.csv: the file is empty; expected a header and rows below it"),
        ("text;label\na;b\n", "a.csv: row 1: expected ',' between columns, it seems to be ';'"),
        ("text\tlabel\na\tb\n", "a.csv: row 1: expected ',' between columns, it seems to be '\\t'"),
        ("text,Label\na,b\n", "a.csv: expected a column 'label'; did you mean 'Label'? (--label-column names another)"),
        ("text,label\n", "a.csv: expected at least one row below the header, got none"),
        ("text,label,text\na,b,c\n", "a.csv: the column 'text' appears twice"),
        (
            "text,label\na\nb,c\nd,e,f\n",
            "a.csv: row 2: expected 2 cells as in the header, got 1\n"
            "a.csv: row 4: expected 2 cells as in the header, got 3",
        ),
        ('text,label\na,b\n"a,b\n', "a.csv: row 3: unexpected end of data"),
        (b"text,label\na,b\n\xff,b\n", "a.csv: row 3: byte 0xff is not UTF-8; expected the file in UTF-8"),
    ],
)
def test_a_table_that_cannot_be_read_is_told_by_file_and_row(tmp_path: Path, content: str, message: str) -> None:
    assert fault_of(written(tmp_path, content)) == message


def test_a_single_column_may_have_any_name_that_was_asked_for(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "title; subtitle\na; b\n"), columns=("title; subtitle",))
    assert table.columns == {"title; subtitle": ("a; b",)}


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(40))
    assert fault_of(written(tmp_path, header + "\n")).endswith("c18, c19, … (--label-column names another)")


def test_parquet_integers_become_codes_and_nulls_become_empty(tmp_path: Path) -> None:
    path = written_parquet(tmp_path, {"label": [7, 12], "text": pa.array(["a", None]).dictionary_encode()})
    table = read(path)
    assert table.columns == {"text": ("a", ""), "label": ("7", "12")}
    assert table.row_name(0) == "row 1"


def test_parquet_numbers_that_are_no_codes_are_refused(tmp_path: Path) -> None:
    path = written_parquet(tmp_path, {"label": [6.1], "text": ["a"]})
    assert fault_of(path) == "a.parquet: column 'label': expected text or integers, got double"


def test_a_missing_column_of_parquet_is_named(tmp_path: Path) -> None:
    path = written_parquet(tmp_path, {"label": ["x"], "txt": ["a"]})
    assert fault_of(path) == "a.parquet: expected a column 'text'; did you mean 'txt'? (--text-column names another)"


def test_another_file_named_parquet_is_refused(tmp_path: Path) -> None:
    assert fault_of(written(tmp_path, "text,label\n", "a.parquet")).startswith(
        "a.parquet: expected a Parquet file, but"
    )


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written_parquet(tmp_path, {"label": ["x"], "text": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    assert fault_of(path) == "a.parquet: reading Parquet needs pyarrow: pip install 'hiercos[parquet]'"
