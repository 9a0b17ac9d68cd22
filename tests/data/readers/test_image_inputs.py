import io
from pathlib import Path

import pytest

from hiercos.data import UnlabelledInputs, read_inputs
from hiercos.errors import DataError, HiercosWarning
from pictures import picture, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(["b.png", "deep/er/a.jpg", "deep/c.png"]):
        write(tmp_path / name, picture(number))
    return tmp_path


def names(inputs: UnlabelledInputs, folder: Path) -> list[str]:
    images = inputs.whole().inputs
    return [images.name(row).replace(f"{folder}/", "") for row in range(len(images))]


def fault_of(path: str | Path, **options: object) -> str:
    with pytest.raises(DataError) as error:
        read_inputs(path, kind="images", **options)
    return str(error.value).replace(str(path), Path(path).name)


def test_every_image_below_a_folder_is_taken(folder: Path) -> None:
    write(folder / "deep" / "a.txt", b"")
    inputs = read_inputs(folder, kind="images")
    assert (names(inputs, folder), list(inputs.whole().numbers)) == (
        ["b.png", "deep/c.png", "deep/er/a.jpg"],
        [1, 2, 3],
    )
    assert inputs.notes == (f"{folder}: files that are not images are left out: 1 .txt (1 in all).",)


def test_one_image_is_a_file(folder: Path) -> None:
    assert names(read_inputs(folder / "b.png", kind="images"), folder) == ["b.png"]


def test_a_table_lists_images_by_its_column(folder: Path) -> None:
    path = write(folder / "t.csv", b"path,name\nb.png,x\n\ndeep/c.png,y\n")
    inputs = read_inputs(path, kind="images")
    assert (names(inputs, folder), inputs.whole().numbers) == (["b.png", "deep/c.png"], [2, 4])
    other = write(folder / "deep" / "t.tsv", b"file\tlabel\nb.png\tx\n")
    assert names(read_inputs(other, kind="images", path_column="file", root=folder), folder) == ["b.png"]


def test_lines_of_standard_input_are_paths(folder: Path) -> None:
    lines = f"{folder}/b.png\n\n{folder}/deep/c.png\n"
    with pytest.warns(HiercosWarning, match="standard input: 1 blank line is left out, row 2"):
        inputs = read_inputs("-", kind="images", stdin=io.StringIO(lines))
    assert (names(inputs, folder), inputs.whole().numbers) == (["b.png", "deep/c.png"], [1, 3])
    assert names(read_inputs("-", kind="images", stdin=io.StringIO("b.png"), root=folder), folder) == ["b.png"]
    assert fault_of("-", stdin=io.StringIO("none.png\n")) == (
        "standard input: row 1: none.png: the file cannot be read (No such file or directory)"
    )


def test_what_is_left_out_keeps_the_numbers_of_the_others(folder: Path) -> None:
    write(folder / "deep" / "c.png", b"text")
    assert fault_of(folder).startswith(f"{folder.name}/deep/c.png: not an image")
    inputs = read_inputs(folder, kind="images", on_error="skip")
    assert (names(inputs, folder), inputs.whole().numbers) == (["b.png", "deep/er/a.jpg"], [1, 3])
    assert inputs.notes[0] == f"{folder}: 1 of 3 images cannot be decoded; left out:"


def test_other_files_are_refused(folder: Path) -> None:
    assert fault_of(write(folder / "a.npz", b"")) == (
        "expected an image, a folder of images or a table (.csv, .tsv, .parquet, .jsonl) of their paths "
        "because this model takes images, got a.npz"
    )
    assert fault_of(folder / "none.png").startswith("none.png: there is no such file; expected a file (.jpg, ")
    with pytest.raises(DataError, match="is a folder; expected a file"):
        read_inputs(folder, kind="texts")
