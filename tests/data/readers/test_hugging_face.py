import io
import pickle
import sys
from pathlib import Path

import pytest
from PIL import Image

from hiercos.data import load_dataset, load_test_samples
from hiercos.data.images.collections import Images
from hiercos.errors import DataError
from pictures import TREE, picture

datasets = pytest.importorskip("datasets")
NAMES = ["car", "cat", "dog"]


def features(**columns: object) -> "datasets.Features":
    return datasets.Features(columns)


def images(first: int, count: int) -> "datasets.Dataset":
    """Pictures with a label that is one of three names."""
    return datasets.Dataset.from_dict(
        {
            "image": [{"bytes": picture(first + row), "path": None} for row in range(count)],
            "label": [row % 3 for row in range(count)],
        },
        features=features(image=datasets.Image(), label=datasets.ClassLabel(names=NAMES)),
    )


def texts(count: int, **more: list[object]) -> "datasets.Dataset":
    rows = range(count)
    return datasets.Dataset.from_dict(
        {"text": [f"text {row}" for row in rows], "label": [f"pet > {row % 2}" for row in rows], **more}
    )


def saved(data: object, folder: Path) -> Path:
    data.save_to_disk(str(folder))  # type: ignore[attr-defined]
    return folder


def fault_of(folder: Path, **options: object) -> str:
    with pytest.raises(DataError) as error:
        load_dataset(folder, **options)
    return str(error.value).replace(str(folder), folder.name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    parts = {"train": images(0, 6), "validation": images(10, 3), "test": images(20, 3), "extra": images(30, 3)}
    return saved(datasets.DatasetDict(parts), tmp_path / "saved")


def test_a_saved_folder_of_images_is_read_with_its_splits_and_class_names(folder: Path) -> None:
    dataset = load_dataset(folder, taxonomy=TREE)
    assert (dataset.name, dataset.kind, len(dataset)) == ("saved", "images", 12)
    assert dataset.labels.tolist() == [2, 0, 1] * 4
    assert dataset.split.tolist() == ["train"] * 6 + ["val"] * 3 + ["test"] * 3
    assert dataset.notes == (f"{folder}: the splits extra are left out.",)


def test_images_stay_encoded_until_they_are_opened_and_can_be_pickled(folder: Path) -> None:
    inputs = load_dataset(folder, taxonomy=TREE).inputs
    assert isinstance(inputs, Images)
    assert inputs.name(7) == f"{folder}, val row 2"
    part = pickle.loads(pickle.dumps(inputs.take([7, 0])))
    assert part.content(0) == picture(11)
    assert part.open(0).tobytes() == Image.open(io.BytesIO(picture(11))).tobytes()


def test_a_model_is_tested_on_the_split_test(folder: Path) -> None:
    samples = load_test_samples(folder, TREE)
    assert (len(samples.inputs), samples.labels.tolist()) == (3, [2, 0, 1])


def test_a_faulty_image_is_named_by_split_and_row(tmp_path: Path) -> None:
    data = images(0, 4)
    broken = datasets.Dataset.from_dict(
        {"image": [{"bytes": b"text", "path": None}], "label": [0]}, features=data.features
    )
    folder = saved(datasets.DatasetDict({"train": data, "test": broken}), tmp_path / "saved")
    assert fault_of(folder, taxonomy=TREE).startswith("saved, test row 1: not an image")


def test_a_saved_table_of_texts_is_read_by_its_columns(tmp_path: Path) -> None:
    folder = saved(texts(4, split=["train", "train", "val", "test"]), tmp_path / "saved")
    dataset = load_dataset(folder)
    assert (dataset.kind, tuple(dataset.inputs)) == ("texts", ("text 0", "text 1", "text 2", "text 3"))
    assert (dataset.taxonomy.class_names, dataset.labels.tolist()) == (("0", "1"), [0, 1, 0, 1])
    assert dataset.split.tolist() == ["train", "train", "val", "test"]


def test_columns_that_are_missing_or_of_another_type_are_named(tmp_path: Path) -> None:
    folder = saved(texts(3, price=[0.5, 1.5, 2.5], title=["a", "b", ""]), tmp_path / "saved")
    known = "there are: text, label, price, title"
    assert fault_of(folder, label_column="kind") == f"saved: expected a column 'kind'; {known}"
    assert fault_of(folder, input_column="name") == f"saved: expected a column 'name'; {known}"
    assert fault_of(folder, label_column="price").startswith("saved: row 1: 'price': expected text or an integer, got")
    assert (
        fault_of(folder, input_column="title")
        == "saved: row 3: the text is empty; --on-error skip leaves such rows out"
    )


def test_samples_without_a_class_are_told_from_others(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict(
        {"text": ["a", "b"], "label": [0, -1]},
        features=features(text=datasets.Value("string"), label=datasets.ClassLabel(names=NAMES)),
    )
    assert fault_of(saved(data, tmp_path / "saved"), taxonomy=TREE) == "saved: row 2: the label is empty"


def test_a_damaged_folder_is_one_sentence(tmp_path: Path) -> None:
    folder = saved(texts(3), tmp_path / "saved")
    next(folder.glob("*.arrow")).write_bytes(b"damaged")
    assert fault_of(folder).startswith("saved: the saved data set cannot be read (")


def test_without_a_connection_the_hub_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object) -> None:
        raise ConnectionError("Couldn't reach 'imdb' on the Hub (LocalEntryNotFoundError)")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(DataError) as error:
        load_dataset("hf:imdb")
    assert str(error.value) == (
        "hf:imdb: the Hugging Face Hub cannot be reached and 'imdb' is not in the local cache; expected a "
        "connection, or a folder that save_to_disk wrote on a machine that has one"
    )


def test_a_name_of_the_hub_may_have_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def load(name: str, configuration: str | None) -> object:
        asked.append((name, configuration))
        return texts(4, split=["train", "train", "val", "test"])

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert load_dataset("hf:who/what:how").name == "who/what:how"
    assert load_dataset("hf:what").name == "what"
    assert asked == [("who/what", "how"), ("what", None)]


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        DataError, match=r"hf:imdb: data sets of Hugging Face need datasets: pip install 'hiercos\[hf\]'"
    ):
        load_dataset("hf:imdb")
