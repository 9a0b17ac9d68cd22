"""Limits on what a file may ask for, files that never end, and the errors of other libraries' parsers."""

import io
import os
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy

from hiercos import checks
from hiercos.data import load_dataset, read_inputs
from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import ImageError
from hiercos.data.readers.npz import read_npz
from hiercos.errors import DataError
from hiercos.taxonomy import TaxonomyError, read_taxonomy


def npz(path: Path, header: bytes, body: bytes = b"", *, compression: int = zipfile.ZIP_STORED) -> Path:
    """A file with an array `features` of this header, in the form of the .npy format, version 1."""
    padded = header + b" " * (63 - (len(header) + 10) % 64) + b"\n"
    content = npy.MAGIC_PREFIX + b"\x01\x00" + len(padded).to_bytes(2, "little") + padded + body
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("features.npy", content)
    return path


def test_an_array_that_is_larger_than_the_limit_is_refused_before_it_is_allocated(tmp_path: Path) -> None:
    huge = npz(tmp_path / "a.npz", b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 2000)}")
    expected = r"a\.npz: expected at most 1,073,741,824 bytes of arrays, got 8,000,000,000,000 \(HIERCOS_NO_LIM"
    with pytest.raises(DataError, match=expected):
        read_npz(huge, arrays=("features",))


def test_a_compressed_file_may_expand_to_sixteen_times_its_size_or_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", features=np.zeros((1000, 100)))
    assert read_npz(tmp_path / "a.npz", arrays=("features",))["features"].shape == (1000, 100)
    monkeypatch.setattr("hiercos.data.readers.npz.ARRAY_BYTES", 100_000)
    with pytest.raises(DataError, match="expected at most 100,000 bytes of arrays, got 800,000"):
        read_npz(tmp_path / "a.npz", arrays=("features",))
    monkeypatch.setenv("HIERCOS_NO_LIMITS", "1")
    assert read_npz(tmp_path / "a.npz", arrays=("features",))["features"].shape == (1000, 100)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2)}",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2",
        b"{'descr': '<f4', 'fortran_order': 3, 'shape': 7}",
        b"{'descr': 3, 'fortran_order': False, 'shape': (1, 2)}",
        b"'descr'" + b"(" * 200,
        b"\xff\x00\n\r",
        b"",
    ],
)
def test_a_damaged_header_is_a_damaged_array(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.npz: array 'features' is damaged"):
        read_npz(npz(tmp_path / "a.npz", header), arrays=("features",))
    with pytest.raises(DataError, match=r"a\.npz: array 'features' is damaged"):
        read_inputs(tmp_path / "a.npz", kind="vectors")


def test_only_an_array_of_objects_is_said_to_hold_python_objects(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="holds Python objects"):
        read_npz(tmp_path / "a.npz", arrays=("features",))


def test_a_cell_may_be_longer_than_the_csv_module_allows_but_not_than_our_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, most = tmp_path / "a.csv", checks.TEXT_CHARACTERS
    path.write_text(f"text\n{'x' * most}\n")
    assert len(read_inputs(path, kind="texts").whole().inputs.values([0])[0]) == most
    path.write_text(f"text\n{'x' * (most + 1)}\n")
    with pytest.raises(DataError, match=r"a\.csv: row 2: expected at most 1,000,000 characters in a cell"):
        read_inputs(path, kind="texts")
    (tmp_path / "a.jsonl").write_text('{"text": "' + "x" * (most + 1) + '"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl: row 1: expected at most 1,000,000 text characters, got 1,000,001"):
        read_inputs(tmp_path / "a.jsonl", kind="texts")
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * (2 * most)))
    with pytest.raises(DataError, match="standard input: row 1: expected at most 1,000,000 text characters"):
        next(read_inputs("-", kind="texts").batches(1))
    monkeypatch.setenv("HIERCOS_NO_LIMITS", "1")
    for name in ("a.csv", "a.jsonl"):
        assert len(read_inputs(tmp_path / name, kind="texts").whole().inputs.values([0])[0]) == most + 1


def test_a_parquet_file_of_more_rows_than_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["same"] * 1_100_000}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: expected at most 1,048,576 rows, got 1,100,000"):
        read_inputs(tmp_path / "a.parquet", kind="texts")
    monkeypatch.setenv("HIERCOS_NO_LIMITS", "1")
    assert read_inputs(tmp_path / "a.parquet", kind="texts").count == 1_100_000


@pytest.mark.parametrize("name", ["a.png", "a.npz", "a.csv", "a.jsonl", "a.parquet"])
def test_a_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    if name == "a.png":
        with pytest.raises(ImageError, match=r"a\.png: expected a file, this is a pipe or a device"):
            ImageFiles([tmp_path / name]).open(0)
        return
    kind = "vectors" if name == "a.npz" else "texts"
    with pytest.raises(DataError, match="expected a file, this is a pipe or a device"):
        read_inputs(tmp_path / name, kind=kind)


def test_devices_large_files_and_impossible_names_are_no_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImageError, match="/dev/zero: expected a file, this is a pipe or a device"):
        ImageFiles(["/dev/zero"]).open(0)
    with pytest.raises(ImageError, match=r"expected the name of a file \(embedded null byte\)"):
        ImageFiles(["a\0b"]).open(0)
    (tmp_path / "large.png").write_bytes(b"x" * 2000)
    monkeypatch.setattr("hiercos.data.images.collections.ARRAY_BYTES", 1000)
    with pytest.raises(ImageError, match="expected at most 1,000 file bytes, got 2,000"):
        ImageFiles([tmp_path / "large.png"]).open(0)
    monkeypatch.setattr("hiercos.taxonomy.formats.ARRAY_BYTES", 1000)
    with pytest.raises(TaxonomyError, match="/dev/zero: expected at most 1,000 file bytes"):
        read_taxonomy("/dev/zero", format="csv")


def test_a_taxonomy_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree.csv").write_text("a,b,c\n" + "".join(f"{n},{n},{n}\n" for n in range(20)))
    monkeypatch.setattr("hiercos.taxonomy.checks.NODES", 50)
    with pytest.raises(TaxonomyError, match="at most 50 nodes, got 60"):
        read_taxonomy(tmp_path / "tree.csv")


def test_empty_texts_fail_or_are_skipped_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "text,label,split\nred car,a > b,train\n  ,a > b,train\nblue car,a > c,train\ncar,a > c,val\ncar a,a > b,test\n"
    )
    fault = "row 3: the text is empty"
    for read in (lambda **o: load_dataset(path, **o), lambda **o: read_inputs(path, kind="texts", **o)):
        with pytest.raises(DataError, match=rf"a\.csv: {fault}"):
            read()
        found = read(on_error="skip")
        assert [note for note in found.notes if "taxonomy" not in note] == [
            f"{path}: 1 of 5 texts cannot be used; left out:",
            f"    {fault}",
        ]
    assert [list(batch.inputs) for batch in read_inputs(path, kind="texts", on_error="skip").batches(9)] == [
        ["red car", "blue car", "car", "car a"]
    ]
    path.write_text("text\n \n")
    with pytest.raises(DataError, match="the text is empty"):
        read_inputs(path, kind="texts", on_error="skip")


@pytest.mark.parametrize("second", ["features.npy", "features"])
def test_two_arrays_of_one_name_are_refused(second: str, tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", bytes(4))
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a duplicate name
        archive.writestr(second, archive.read("features.npy"))
    with pytest.raises(DataError, match=r"a\.npz: expected one array of each name, there are several 'features'"):
        read_npz(path, arrays=("features",))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_taxonomy_is_read_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "tree.txt"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(pipe.write_text, "pet > cat\npet > dog\n")
        assert read_taxonomy(pipe).class_names == ("cat", "dog")
        written.result()
