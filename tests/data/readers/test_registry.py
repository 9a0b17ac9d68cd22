from pathlib import Path

import numpy as np
import pytest

from hiercos.data import (
    READERS,
    InputBatch,
    Kind,
    Reader,
    Source,
    SourceOptions,
    Texts,
    in_batches,
    load_dataset,
    read_inputs,
)
from hiercos.data.readers.registry import prefix_of, reader_of
from hiercos.errors import DataError


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(READERS, "_items", dict(READERS._items))

    @READERS.register("words")
    class Words(Reader):
        suffixes = (".words", ".csv")
        prefix = "words:"
        kinds = ("texts",)

        def rows(self, source: str, options: SourceOptions, kind: Kind | None) -> Source:
            texts = Texts(Path(source).read_text().split())
            split, labels = ["train", "train", "val", "test"][: len(texts)], ["a > b", "a > c"] * (len(texts) // 2)
            rows = InputBatch(
                range(1, len(texts) + 1), texts, labels=labels if options.is_labelled else None, split=split
            )
            return Source(source, "texts", in_batches(rows))


@pytest.mark.usefixtures("words")
def test_a_source_in_which_a_reader_finds_no_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.words").touch()
    with pytest.raises(DataError, match=r"none\.words: expected at least one sample"):
        load_dataset(tmp_path / "none.words")


def test_the_readers_are_known_by_name() -> None:
    names = ["image", "folder", "hugging-face", "hugging-face-folder", "npz", "table", "standard-input"]
    assert list(READERS) == names
    with pytest.raises(DataError, match=r"unknown reader 'tabel'; did you mean 'table'\?"):
        READERS["tabel"]


def test_a_source_is_taken_by_its_extension_prefix_or_form(tmp_path: Path) -> None:
    for name in ("a.npz", "a.CSV", "a.jsonl", "a.png", "a.bin"):
        (tmp_path / name).touch()
    names = {reader: name for name, reader in READERS.items()}

    def found(name: str, kind: Kind) -> list[str]:
        readers = (reader_of(str(tmp_path / name)), reader_of(str(tmp_path / name), kind))
        return ["" if reader is None else names[type(reader)] for reader in readers]

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
    with pytest.raises(DataError, match=r"expected a file \(.npz, .csv, .tsv, .parquet, .jsonl, .json, .words, .csv\)"):
        load_dataset(tmp_path / "none.words")
