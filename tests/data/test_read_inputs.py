import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hiercos.data import read_inputs
from hiercos.errors import DataError, HiercosWarning
from pictures import picture, write


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], TextIO]:
    """A function that puts a text on standard input."""

    def put(content: str | bytes) -> TextIO:
        stream = io.TextIOWrapper(io.BytesIO(content if isinstance(content, bytes) else content.encode()), "utf-8")
        monkeypatch.setattr("sys.stdin", stream)
        return stream

    return put


def fault_of(path: str | Path, **options) -> str:
    with pytest.raises(DataError) as error:
        list(read_inputs(path, **options).batches(2))
    return str(error.value).replace(str(path), Path(path).name)


Typed = Callable[[str | bytes], TextIO]


def test_lines_of_standard_input_are_texts_and_blank_ones_are_left_out_with_a_warning(typed: Typed) -> None:
    typed("a cat\n\nmy dog\r\n")
    inputs = read_inputs("-", kind="texts")
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
    inputs = read_inputs(path, kind="texts", input_column="title")
    batch = inputs.whole()
    assert (list(batch.inputs), list(batch.numbers), inputs.count) == (["a cat", "a dog"], [2, 3], 2)


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
            {"id": ("06.10",), "price": ("2.5",)},
            {"id": ("",), "price": (last,)},
        ]
    assert read_inputs(path, kind="texts").whole().kept == {}
    assert fault_of(path, kind="texts", keep_columns=["prize"]).endswith(
        "expected a column 'prize'; did you mean 'price'?"
    )


def test_only_a_table_has_columns_to_keep(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.eye(2))
    expected = "--keep-columns: expected a table (.csv, .tsv, .parquet, .jsonl, .json) as input, got"
    assert fault_of(tmp_path / "a.npz", kind="vectors", keep_columns=["id"]) == f"{expected} a.npz"
    assert fault_of("-", kind="texts", keep_columns=["id"]) == f"{expected} -"


def test_inputs_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\na\n", encoding="utf-8")
    assert fault_of(tmp_path / "a.csv", kind="vectors") == (
        "expected an .npz of vectors because this model takes vectors, got a.csv"
    )
    np.savez(tmp_path / "a.npz", features=np.eye(2))
    assert fault_of(tmp_path / "a.npz", kind="texts") == (
        "expected a table (.csv, .tsv, .parquet, .jsonl, .json) of texts because this model takes texts, got a.npz"
    )
    assert fault_of("-", kind="vectors") == (
        "this model takes vectors: expected an .npz of vectors, got texts on standard input"
    )
    assert fault_of(tmp_path / "b.csv", kind="texts") == (
        "b.csv: there is no such file; expected a file (.csv, .tsv, .parquet, .jsonl, .json) "
        "because this model takes texts"
    )


def test_inputs_that_cannot_be_used_are_named(tmp_path: Path, typed: Typed) -> None:
    (tmp_path / "a.csv").write_text('text\na\n" "\n', encoding="utf-8")
    assert (
        fault_of(tmp_path / "a.csv", kind="texts")
        == "a.csv: row 3: the text is empty; --on-error skip leaves such rows out"
    )
    typed("\n")
    assert fault_of("-", kind="texts") == "standard input: expected at least one line of text, got none"
    typed(b"caf\xe9\n")
    assert fault_of("-", kind="texts") == "standard input: expected text in UTF-8 (invalid continuation byte)"


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


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    rows, width = 20_000, 64  # 5 MB of float32
    np.savez(tmp_path / "a.npz", features=np.zeros((rows, width), np.float32))
    (tmp_path / "a.csv").write_text("text\n" + "a text of forty characters more or less.\n" * rows * 4)
    for name, kind in (("a.npz", "vectors"), ("a.csv", "texts")):
        tracemalloc.start()
        assert sum(len(batch) for batch in read_inputs(tmp_path / name, kind=kind).batches(500)) >= rows
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2.5e6


def test_every_fault_is_found_before_the_first_batch(tmp_path: Path) -> None:
    array = np.zeros((1500, 2))  # more rows than are checked at a time
    array[1, 1], array[1400, 0] = np.nan, np.inf
    np.savez(tmp_path / "a.npz", features=array)
    (tmp_path / "a.csv").write_text("id,text\n1, \n" + "2,a\n" * 1500 + "3,\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,text\n1, \n2\n3,\n4\n", encoding="utf-8")
    faults = {}
    for name, kind in (("a.npz", "vectors"), ("a.csv", "texts"), ("b.csv", "texts")):
        with pytest.raises(DataError) as error:
            read_inputs(tmp_path / name, kind=kind)
        faults[name] = [fault.removeprefix(f"{tmp_path / name}: ") for fault in error.value.faults]
    assert faults["a.npz"] == [
        "row 2, column 2 (features[1, 1]): expected a finite number, got nan; "
        "such values are in 2 of 1,500 rows and 2 of 2 columns"
    ]
    assert faults["a.csv"] == [
        "row 2: the text is empty; --on-error skip leaves such rows out",
        "row 1503: the text is empty",
    ]
    assert faults["b.csv"] == [f"row {row}: expected 2 cells as in the header, got 1" for row in (3, 5)]


def test_rows_that_are_skipped_leave_no_empty_batch(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text\na\n" "\nb\n', encoding="utf-8")
    inputs = read_inputs(tmp_path / "a.csv", kind="texts", on_error="skip")
    assert [(list(batch.inputs), list(batch.numbers)) for batch in inputs.batches(1)] == [(["a"], [2]), (["b"], [4])]
    assert inputs.count == 2


def test_standard_input_is_read_as_batches_are_asked_for(typed: Typed) -> None:
    lines = typed("a\nb\nc\n" + 7 * " \n" + "d\n")
    batches = read_inputs("-", kind="texts").batches(2)
    assert list(next(batches).inputs) == ["a", "b"]
    assert lines.readline() == "c\n"
    with pytest.warns(HiercosWarning, match="7 blank lines are left out, rows 3, 4, 5, 6, 7, …;"):
        assert [(list(batch.inputs), batch.numbers) for batch in batches] == [(["d"], [10])]


def test_a_batch_has_at_least_one_input(typed: Typed) -> None:
    typed("a")
    with pytest.raises(ValueError, match="size"):
        read_inputs("-", kind="texts").batches(0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(["b.png", "deep/er/a.jpg", "deep/c.png"]):
        write(tmp_path / name, picture(number))
    return tmp_path


def images(path: str | Path, folder: Path, **options: object) -> tuple[list[str], list[int]]:
    """Names and row numbers of images."""
    batch = read_inputs(path, kind="images", **options).whole()
    names = [batch.inputs.name(row).replace(f"{folder}/", "") for row in range(len(batch))]
    return names, list(batch.numbers)


def test_every_image_below_a_folder_is_taken_and_one_image_is_a_file(folder: Path) -> None:
    write(folder / "deep" / "a.txt", b"")
    assert images(folder, folder) == (["b.png", "deep/c.png", "deep/er/a.jpg"], [1, 2, 3])
    note = f"{folder}: files that are not images are left out: 1 .txt (1 in all)."
    assert read_inputs(folder, kind="images").notes == (note,)
    assert images(folder / "b.png", folder) == (["b.png"], [1])


def test_a_table_lists_images_by_its_column(folder: Path) -> None:
    path = write(folder / "t.csv", b"path,name\nb.png,x\n\ndeep/c.png,y\n")
    assert images(path, folder) == (["b.png", "deep/c.png"], [2, 4])
    assert read_inputs(path, kind="images", keep_columns=["name"]).whole().kept == {"name": ("x", "y")}
    other = write(folder / "deep" / "t.tsv", b"file\tlabel\nb.png\tx\n")
    assert images(other, folder, input_column="file", root=folder) == (["b.png"], [2])


def test_lines_of_standard_input_are_paths(folder: Path, typed: Typed) -> None:
    typed(f"{folder}/b.png\n\n{folder}/deep/c.png\n")
    with pytest.warns(HiercosWarning, match="standard input: 1 blank line is left out, row 2"):
        assert images("-", folder) == (["b.png", "deep/c.png"], [1, 3])
    typed("b.png")
    assert images("-", folder, root=folder) == (["b.png"], [1])
    typed("none.png\n")
    assert fault_of("-", kind="images") == (
        "standard input: row 1: none.png: the file cannot be read (No such file or directory)"
    )


def test_what_is_left_out_keeps_the_numbers_of_the_others(folder: Path) -> None:
    write(folder / "deep" / "c.png", b"text")
    assert fault_of(folder, kind="images").startswith(f"{folder.name}/deep/c.png: not an image")
    assert images(folder, folder, on_error="skip") == (["b.png", "deep/er/a.jpg"], [1, 3])
    notes = read_inputs(folder, kind="images", on_error="skip").notes
    assert notes[0] == f"{folder}: 1 of 3 images cannot be decoded; left out:"


def test_files_without_images_are_refused(folder: Path) -> None:
    assert fault_of(write(folder / "a.npz", b""), kind="images") == (
        "expected an image, a folder of images or a table (.csv, .tsv, .parquet, .jsonl, .json) of their paths "
        "because this model takes images, got a.npz"
    )
    assert fault_of(folder / "none.png", kind="images").startswith(
        "none.png: there is no such file; expected a file (.jpg, "
    )
    with pytest.raises(DataError, match="is a folder; expected a file"):
        read_inputs(folder, kind="texts")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_columns_that_are_not_read_are_named(tmp_path: Path, suffix: str) -> None:
    path = kept_file(tmp_path, suffix)
    unread = f"{path}: columns that are not read: 'id', 'price'; --keep-columns all copies them to the answers."
    assert read_inputs(path, kind="texts").notes == (unread,)
    assert read_inputs(path, kind="texts", keep_columns=["price"], read_elsewhere=["id"]).notes == ()
