import io
from pathlib import Path

import numpy as np
import pytest

from hiercos.data.readers.unlabelled import read_inputs
from hiercos.errors import DataError


def fault_of(path: str | Path, **options) -> str:
    with pytest.raises(DataError) as error:
        read_inputs(path, **options)
    return str(error.value).replace(str(path), Path(path).name)


def test_lines_of_standard_input_are_texts_and_blank_ones_do_not_count() -> None:
    inputs = read_inputs("-", kind="texts", stdin=io.StringIO("a cat\n\nmy dog\r\n"))
    assert (inputs.inputs, inputs.rows) == (("a cat", "my dog"), (1, 3))


def test_a_table_gives_its_column_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,title\n7,a cat\n8,a dog\n", encoding="utf-8")
    inputs = read_inputs(path, kind="texts", text_column="title")
    assert (inputs.inputs, inputs.rows) == (("a cat", "a dog"), (2, 3))


def test_an_npz_gives_its_features(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.eye(2), labels=np.array(["x", "y"]))
    inputs = read_inputs(tmp_path / "a.npz", kind="vectors")
    assert isinstance(inputs.inputs, np.ndarray)
    assert (inputs.inputs.tolist(), inputs.rows) == ([[1, 0], [0, 1]], (1, 2))


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
    assert fault_of(tmp_path / "a.csv", kind="texts") == "a.csv: row 3: the text is empty"
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
