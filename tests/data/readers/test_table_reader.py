import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hiercos.data import load_dataset, load_test_samples, read_inputs
from hiercos.data.images.collections import Images
from hiercos.errors import DataError
from pictures import TREE, picture, write

ROWS = [("a.png", "cat", "train"), ("b.png", "dog", "train"), ("c/c.png", "car", "val"), ("d.png", "cat", "test")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, (path, _, _) in enumerate(ROWS):
        write(tmp_path / "images" / path, picture(number))
    return tmp_path / "images"


def table(folder: Path, name: str = "t.csv", first: str = "path") -> Path:
    path = folder / name
    rows = [dict(zip((first, "label", "split"), row, strict=True)) for row in ROWS]
    if name.endswith(".parquet"):
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        sign = "\t" if name.endswith(".tsv") else ","
        lines = [sign.join(rows[0]), *(sign.join(row.values()) for row in rows)]
        path.write_text("\n".join(lines), encoding="utf-8")
    return path


def fault_of(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as error:
        load_dataset(path, taxonomy=TREE, **options)
    return str(error.value).replace(str(path.parent) + "/", "")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.jsonl"])
def test_a_table_of_paths_is_a_data_set_of_images(folder: Path, name: str) -> None:
    dataset = load_dataset(table(folder, name), taxonomy=TREE)
    assert (dataset.name, dataset.kind, dataset.labels.tolist()) == ("t", "images", [0, 1, 2, 0])
    assert isinstance(dataset.inputs, Images)
    assert dataset.inputs.content(2) == picture(2)
    assert dataset.split.tolist() == ["train", "train", "val", "test"]


def test_paths_start_from_the_folder_of_the_table_or_the_root(folder: Path, tmp_path: Path) -> None:
    path = table(tmp_path)
    assert "a.png: the file cannot be read (No such file or directory)" in fault_of(path)
    assert len(load_dataset(path, taxonomy=TREE, root=folder)) == 4
    path.write_text(path.read_text("utf-8").replace("a.png", str(folder / "a.png")), "utf-8")
    assert len(load_dataset(path, taxonomy=TREE, root=str(folder))) == 4


def test_the_column_of_paths_can_be_named(folder: Path) -> None:
    path = table(folder, first="file")
    assert load_dataset(path, taxonomy=TREE, input_column="file").kind == "images"
    assert tuple(load_test_samples(path, TREE, input_column="file", kinds=("texts",)).inputs) == ("d.png",)
    assert read_inputs(path, kind="texts", input_column="file").kind == "texts"
    assert read_inputs(path, kind="images", input_column="file").kind == "images"
    assert fault_of(path) == (
        "t.csv: expected a column 'text' or 'path'; there are: file, label, split "
        "(--input-column names another, --columns several)"
    )


def test_a_column_of_another_name_lists_images_if_its_first_cell_ends_as_one(folder: Path) -> None:
    path = write(folder / "t.csv", b"title,label,split\na cat.,cat,train\na.png,dog,train\nmy cat,cat,test\n")
    assert load_dataset(path, taxonomy=TREE, input_column="title").kind == "texts"
    write(path, b"title,label,split\nA.PNG ,cat,train\nnone,dog,train\n")
    assert "none: the file cannot be read" in fault_of(path, input_column="title")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"input_column": "file", "label_column": "text"}, "'text'; there are: file, label, split (--label-column"),
        ({"input_column": "file", "split_column": "path"}, "'path'; there are: file, label, split (--split-column"),
        ({"input_column": "text"}, "'text'; there are: file, label, split (--input-column"),
        ({"input_column": "image"}, "'image'; there are: file, label, split (--input-column"),
    ],
)
def test_a_missing_column_comes_with_the_option_that_asked_for_it(
    folder: Path, options: dict[str, str], hint: str
) -> None:
    fault = fault_of(table(folder, first="file"), **options)
    assert fault == f"t.csv: expected a column {hint} names another)"


def test_of_texts_and_paths_one_must_be_chosen(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", b"text,path,label\na,a.png,cat\nb,b.png,dog\n")
    assert fault_of(path) == (
        "t.csv: the table has both columns 'text' and 'path': expected --input-column to choose one"
    )
    assert load_dataset(path, taxonomy=TREE, input_column="text", purpose="train", test=False).kind == "texts"
    assert load_test_samples(path, TREE, kinds=("texts",)).kind == "texts"  # the model says which


def test_empty_paths_and_faulty_images_are_named_by_row(folder: Path) -> None:
    path = table(folder)
    write(folder / "b.png", b"text")
    assert fault_of(path).startswith("t.csv: row 3: b.png: not an image; expected one of JPEG")
    dataset = load_dataset(write(path, path.read_bytes() + b"\na.png,dog,train"), taxonomy=TREE, on_error="skip")
    assert dataset.notes[0].endswith("t.csv: 1 of 5 images cannot be decoded; left out:")
    assert "t.csv: row 3: " in dataset.notes[1]
    assert dataset.labels.tolist() == [0, 2, 0, 1]
    assert fault_of(write(path, path.read_bytes() + b"\n ,cat,test")) == "t.csv: row 7: the path is empty"


def test_splits_are_named_by_their_own_row_when_others_were_skipped(folder: Path) -> None:
    path = table(folder)
    write(folder / "a.png", b"text")
    write(path, path.read_bytes().replace(b"c/c.png,car,val", b"c/c.png,car,dev"))
    assert fault_of(path, on_error="skip").startswith("t.csv: row 4: expected train, val or test as the split, got")
