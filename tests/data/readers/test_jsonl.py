from pathlib import Path

import pytest

from hiercos.data.readers.table import read_table
from hiercos.data.readers.table_files import column_names
from hiercos.errors import DataError


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "a.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def faults_of(path: Path, **options: object) -> list[str]:
    with pytest.raises(DataError) as error:
        read_table(path, columns=("text", "label"), options={"text": "--text-column"}, **options)
    return [fault.replace(str(path), path.name) for fault in error.value.faults]


def test_objects_are_rows_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeff{"text": "a", "label": 7, "id": [1]}\r\n\n{"label": "b", "text": "é \\n"}')
    table = read_table(path, columns=("text", "label"), optional=("split",))
    assert table.columns == {"text": ("a", "é \n"), "label": ("7", "b")}
    assert (table.numbers, table.row_name(1)) == ((1, 3), "row 3")
    assert column_names(path) == ["text", "label", "id"]


def test_a_key_that_is_missing_or_null_is_an_empty_cell(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "a", "label": null}\n{"text": "b", "split": "test"}\n')
    table = read_table(path, columns=("text", "label"), optional=("split",))
    assert table.columns == {"text": ("a", "b"), "label": ("", ""), "split": ("", "test")}


def test_a_key_that_no_object_has_is_a_missing_column(tmp_path: Path) -> None:
    path = written(tmp_path, '{"txt": "a", "label": "x"}\n')
    assert faults_of(path) == ["a.jsonl: expected a column 'text'; did you mean 'txt'? (--text-column names another)"]


def test_cells_that_are_no_text_are_named_by_row_and_key(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": ["a"], "label": 1}\n{"text": "b", "label": 1.5}\n{"text": true, "label": 1}')
    assert faults_of(path) == [
        "a.jsonl: row 1: 'text': expected text or an integer, got [\"a\"]",
        "a.jsonl: row 2: 'label': expected text or an integer, got 1.5",
        "a.jsonl: row 3: 'text': expected text or an integer, got true",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a", "label": "b"}\n{"text"}', "a.jsonl: row 2: expected a JSON object (Expecting ':' delimiter"),
        ("[1]", "a.jsonl: row 1: expected a JSON object, got list"),
        ("\n \n", "a.jsonl: the file is empty; expected one object per line"),
        (b'{"text": "a"}\n{"text": "\xe9"}\n', "a.jsonl: row 2: byte 0xe9 is not UTF-8; expected the file in UTF-8"),
    ],
)
def test_what_is_no_json_lines_is_named_by_row(tmp_path: Path, content: str | bytes, message: str) -> None:
    (fault,) = faults_of(written(tmp_path, content))
    assert fault.startswith(message)
