from pathlib import Path

import numpy as np
import pytest

from hiercos.data import (
    READERS,
    InputOptions,
    Kind,
    Reader,
    SourceOptions,
    SourceSamples,
    Texts,
    UnlabelledInputs,
    load_dataset,
    read_inputs,
)
from hiercos.data.readers.registry import input_reader, prefix_of, sample_reader
from hiercos.errors import DataError, row_name


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(READERS, "_items", dict(READERS._items))

    @READERS.register("words")
    class Words(Reader):
        suffixes = (".words", ".csv")
        prefix = "words:"
        kinds = ("texts",)

        def samples(self, source: str, options: SourceOptions) -> SourceSamples:
            texts = Path(source).read_text().split()
            split = ["train", "train", "val", "test"]
            return SourceSamples(Texts(texts), ["a > b", "a > c", "a > b", "a > c"], split, row_name)

        def inputs(self, source: str, kind: Kind, options: InputOptions) -> UnlabelledInputs:
            return UnlabelledInputs.in_memory(Texts(Path(source).read_text().split()))


def test_the_readers_are_known_by_name() -> None:
    names = ["image", "folder", "hugging-face", "hugging-face-folder", "npz", "table", "standard-input"]
    assert list(READERS) == names
    assert [READERS[name].name for name in names] == names
    with pytest.raises(DataError, match=r"unknown reader 'tabel'; did you mean 'table'\?"):
        READERS["tabel"]


def test_a_source_is_taken_by_its_extension_prefix_or_form(tmp_path: Path) -> None:
    for name in ("a.npz", "a.CSV", "a.jsonl", "a.png", "a.bin"):
        (tmp_path / name).touch()

    def found(name: str, kind: Kind) -> list[str]:
        readers = (sample_reader(str(tmp_path / name)), input_reader(str(tmp_path / name), kind))
        return ["" if reader is None else reader.name for reader in readers]

    assert found("a.npz", "vectors") == ["npz", "npz"]
    assert found("a.CSV", "texts") == found("a.jsonl", "images") == ["table", "table"]
    assert found("a.png", "images") == ["", "image"]
    assert found("", "images") == ["folder", "folder"]
    assert found("a.bin", "texts") == found("none.csv", "texts") == ["", ""]
    assert (prefix_of("hf:a/b"), prefix_of("a.csv")) == ("hf:", "")
    (tmp_path / "dataset_dict.json").touch()
    assert found("", "images") == ["hugging-face-folder", "folder"]


@pytest.mark.usefixtures("words")
def test_a_reader_of_the_user_takes_its_sources_and_goes_before_the_others(tmp_path: Path) -> None:
    for name in ("a.words", "a.csv"):
        (tmp_path / name).write_text("one two three four")
        dataset = load_dataset(tmp_path / name)
        assert (list(dataset.inputs), dataset.name) == (["one", "two", "three", "four"], "a")
        assert np.array_equal(dataset.labels, [0, 1, 0, 1])
        assert read_inputs(tmp_path / name, kind="texts").count == 4
    with pytest.raises(DataError, match=r"expected a file \(.npz, .csv, .tsv, .parquet, .jsonl, .words, .csv\)"):
        load_dataset(tmp_path / "none.words")


def test_a_reader_without_labels_or_inputs_says_so() -> None:
    with pytest.raises(DataError, match="x: the reader 'image' gives no labelled data"):
        READERS["image"]().samples("x", SourceOptions())
    with pytest.raises(DataError, match="x: the reader 'hugging-face' gives no texts without labels"):
        READERS["hugging-face"]().inputs("x", "texts", InputOptions())
