import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hiercos.data.readers import unlabelled
from hiercos.data.sources import read_inputs
from hiercos.errors import DataError, HiercosWarning
from hiercos.taxonomy import AnyArray


def fault_of(path: str | Path, **options) -> str:
    with pytest.raises(DataError) as error:
        list(read_inputs(path, **options).batches(2))
    return str(error.value).replace(str(path), Path(path).name)


def test_lines_of_standard_input_are_texts_and_blank_ones_are_left_out_with_a_warning() -> None:
    inputs = read_inputs("-", kind="texts", stdin=io.StringIO("a cat\n\nmy dog\r\n"))
    with pytest.warns(HiercosWarning) as told:
        batch = inputs.whole()
    (warning,) = told
    assert str(warning.message) == (
        "standard input: 1 blank line is left out, row 2; the other rows keep their numbers"
    )
    assert (list(batch.inputs), batch.numbers, inputs.count) == (["a cat", "my dog"], [1, 3], None)


def test_a_table_gives_its_column_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,title\n7,a cat\n8,a dog\n", encoding="utf-8")
    inputs = read_inputs(path, kind="texts", text_column="title")
    batch = inputs.whole()
    assert (list(batch.inputs), batch.numbers, inputs.count) == (["a cat", "a dog"], [2, 3], 2)


ROWS = [{"id": "06.10", "text": "a cat", "price": 2.5}, {"id": None, "text": "a dog", "price": 3}]


def kept_file(folder: Path, suffix: str) -> Path:
    """The rows as a table of one kind."""
    path = folder / f"a{suffix}"
    if suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    else:
        sign = "," if suffix == ".csv" else "\t"
        lines = ["id,text,price", "06.10,a cat,2.5", ",a dog,3"]
        path.write_text("\n".join(line.replace(",", sign) for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_columns_to_keep_come_with_every_batch_as_text(tmp_path: Path, suffix: str) -> None:
    path = kept_file(tmp_path, suffix)
    last = "3.0" if suffix == ".parquet" else "3"
    for names in (["all"], ["id", "price"]):
        batches = list(read_inputs(path, kind="texts", keep_columns=names).batches(1))
        assert [dict(batch.kept) for batch in batches] == [
            {"id": ["06.10"], "price": ["2.5"]},
            {"id": [""], "price": [last]},
        ]
    assert read_inputs(path, kind="texts").whole().kept == {}
    assert fault_of(path, kind="texts", keep_columns=["prize"]).endswith(
        "expected a column 'prize'; did you mean 'price'?"
    )


def test_only_a_table_has_columns_to_keep(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.eye(2))
    expected = "--keep-columns: expected a table (.csv, .tsv, .parquet, .jsonl) as input, got"
    assert fault_of(tmp_path / "a.npz", kind="vectors", keep_columns=["id"]) == f"{expected} a.npz"
    assert fault_of("-", kind="texts", keep_columns=["id"], stdin=io.StringIO("a")) == f"{expected} -"


def test_an_npz_gives_its_features(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.eye(2), labels=np.array(["x", "y"]))
    inputs = read_inputs(tmp_path / "a.npz", kind="vectors")
    batch = inputs.whole()
    assert (np.asarray(batch.inputs).tolist(), list(batch.numbers)) == ([[1, 0], [0, 1]], [1, 2])


def test_inputs_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\na\n", encoding="utf-8")
    assert fault_of(tmp_path / "a.csv", kind="vectors") == (
        "expected an .npz of vectors because this model takes vectors, got a.csv"
    )
    np.savez(tmp_path / "a.npz", features=np.eye(2))
    assert fault_of(tmp_path / "a.npz", kind="texts") == (
        "expected a table (.csv, .tsv, .parquet, .jsonl) of texts because this model takes texts, got a.npz"
    )
    assert fault_of("-", kind="vectors", stdin=io.StringIO("a")) == (
        "this model takes vectors: expected an .npz file, got texts on standard input"
    )
    assert fault_of(tmp_path / "b.csv", kind="texts") == (
        "b.csv: there is no such file; expected a file (.csv, .tsv, .parquet, .jsonl) because this model takes texts"
    )


def test_inputs_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text\na\n" "\n', encoding="utf-8")
    np.savez(tmp_path / "a.npz", features=np.array([[np.inf]]))
    assert (
        fault_of(tmp_path / "a.csv", kind="texts")
        == "a.csv: row 3: the text is empty; --on-error skip leaves such rows out"
    )
    assert fault_of(tmp_path / "a.npz", kind="vectors") == (
        "a.npz: row 1, column 1 (features[0, 0]): expected a finite number, got inf"
    )
    assert fault_of("-", kind="texts", stdin=io.StringIO("\n")) == (
        "standard input: expected at least one line of text, got none"
    )
    latin = io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8")
    assert (
        fault_of("-", kind="texts", stdin=latin) == "standard input: expected text in UTF-8 (invalid continuation byte)"
    )


TITLES = [f"text {number}" for number in range(1, 8)]


def write_titles(path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": title}) + "\n" for title in TITLES), encoding="utf-8")
    elif path.suffix == ".parquet":
        parquet.write_table(pyarrow.table({"text": TITLES}), path, row_group_size=3)
    else:
        path.write_text("\n".join(["text", *TITLES]), encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "first"), [("a.csv", 2), ("a.tsv", 2), ("a.jsonl", 1), ("a.parquet", 1)])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_texts_come_in_batches_in_order_as_often_as_asked_for(name: str, first: int, size: int, tmp_path: Path) -> None:
    inputs = read_inputs(write_titles(tmp_path / name), kind="texts")
    for _ in range(2):
        batches = list(inputs.batches(size))
        assert [len(batch) for batch in batches] == [min(size, 7 - start) for start in range(0, 7, size)]
        assert [text for batch in batches for text in batch.inputs.values(range(len(batch)))] == TITLES
        assert [number for batch in batches for number in batch.numbers] == list(range(first, first + 7))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("array", [np.arange(14.0).reshape(7, 2), np.arange(14, dtype=">i2").reshape(2, 7).T])
@pytest.mark.parametrize("size", [1, 3, 7, 50])
def test_vectors_come_in_batches_whatever_their_form_on_disk(
    save: Callable[..., None], array: AnyArray, size: int, tmp_path: Path
) -> None:
    save(tmp_path / "a.npz", features=array)
    inputs = read_inputs(tmp_path / "a.npz", kind="vectors")
    batches = list(inputs.batches(size))
    assert inputs.count == 7
    assert np.array_equal(np.concatenate([np.asarray(batch.inputs) for batch in batches]), array)
    assert [number for batch in batches for number in batch.numbers] == list(range(1, 8))


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    rows, width = 40_000, 64  # 10 MB of float32
    np.savez(tmp_path / "a.npz", features=np.zeros((rows, width), np.float32))
    (tmp_path / "a.csv").write_text("text\n" + "a text of forty characters more or less.\n" * rows * 5)
    for name, kind in (("a.npz", "vectors"), ("a.csv", "texts")):
        tracemalloc.start()
        assert sum(len(batch) for batch in read_inputs(tmp_path / name, kind=kind).batches(500)) >= rows
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e6


def test_every_fault_is_found_before_the_first_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlabelled, "CHECKED_AT_ONCE", 2)
    array = np.zeros((5, 2))
    array[1, 1], array[4, 0] = np.nan, np.inf
    np.savez(tmp_path / "a.npz", features=array)
    (tmp_path / "a.csv").write_text("id,text\n1, \n2,a\n3,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,text\n1, \n2\n3,\n4\n", encoding="utf-8")
    faults = {}
    for name, kind in (("a.npz", "vectors"), ("a.csv", "texts"), ("b.csv", "texts")):
        with pytest.raises(DataError) as error:
            read_inputs(tmp_path / name, kind=kind)
        faults[name] = [fault.removeprefix(f"{tmp_path / name}: ") for fault in error.value.faults]
    assert faults["a.npz"] == [
        "row 2, column 2 (features[1, 1]): expected a finite number, got nan; "
        "such values are in 2 of 5 rows and 2 of 2 columns"
    ]
    assert faults["a.csv"] == [
        "row 2: the text is empty; --on-error skip leaves such rows out",
        "row 4: the text is empty",
    ]
    assert faults["b.csv"] == [f"row {row}: expected 2 cells as in the header, got 1" for row in (3, 5)]


def test_a_damaged_or_pickled_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, features=np.arange(1000.0).reshape(500, 2))
    content = bytearray(path.read_bytes())
    content[2000] ^= 255
    path.write_bytes(content)
    assert fault_of(path, kind="vectors").startswith("a.npz: array 'features' is damaged (")
    np.savez(path, features=np.array([[object()]]))
    assert fault_of(path, kind="vectors").startswith("a.npz: array 'features' holds Python objects")
    np.savez(path, features=np.zeros(3))
    assert fault_of(path, kind="vectors") == "a.npz: expected 'features' of shape (samples, features), got (3,)"
    np.savez(path, labels=np.zeros(3))
    assert fault_of(path, kind="vectors") == "a.npz: expected an array 'features', got 'labels'"


def test_standard_input_is_read_as_batches_are_asked_for() -> None:
    lines = io.StringIO("a\nb\nc\n" + 7 * " \n" + "d\n")
    batches = read_inputs("-", kind="texts", stdin=lines).batches(2)
    assert list(next(batches).inputs) == ["a", "b"]
    assert lines.readline() == "c\n"
    with pytest.warns(HiercosWarning, match="7 blank lines are left out, rows 3, 4, 5, 6, 7, …;"):
        assert [(list(batch.inputs), batch.numbers) for batch in batches] == [(["d"], [10])]


def test_a_batch_has_at_least_one_input() -> None:
    with pytest.raises(ValueError, match="size"):
        read_inputs("-", kind="texts", stdin=io.StringIO("a")).batches(0)
