from pathlib import Path

import numpy as np
import pytest

from hiercos.data import load_dataset, load_test_samples
from hiercos.data.images.collections import Images
from hiercos.errors import DataError
from pictures import TREE, photos, write
from trees import TOY


def written(folder: Path, content: str) -> Path:
    path = folder / "t.csv"
    path.write_text(content, encoding="utf-8")
    return path


def without_split(folder: Path, count: int = 60) -> Path:
    names = TOY.class_names
    return written(folder, "text,label\n" + "".join(f"thing {row},{names[row % 3]}\n" for row in range(count)))


def test_the_test_rows_are_used_where_there_is_a_split(tmp_path: Path) -> None:
    samples = load_test_samples(written(tmp_path, "text,label,split\nmiaow,cat,test\nwoof,dog,train\n"), TOY)
    assert (tuple(samples.inputs), samples.labels.tolist(), samples.notes) == (("miaow",), [0], ())


def test_a_file_without_splits_is_used_whole_and_it_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "text,label\nmiaow,cat\nwoof,dog\n")
    samples = load_test_samples(path, TOY)
    assert (tuple(samples.inputs), samples.labels.tolist()) == (("miaow", "woof"), [0, 1])
    assert samples.notes == (f"{path} has no split: all 2 rows are used.",)


def test_of_the_file_a_model_was_trained_on_only_the_test_rows_are_used(tmp_path: Path) -> None:
    path = without_split(tmp_path)
    dataset = load_dataset(path, taxonomy=TOY)
    samples = load_test_samples(path, TOY, trained_on=dataset.fingerprint)
    tested = dataset.rows("test")
    assert tuple(samples.inputs) == tuple(dataset.inputs[row] for row in tested)
    assert samples.labels.tolist() == dataset.labels[tested].tolist()
    assert samples.notes == (f"{path} is what the model was trained on: only its {len(tested)} test rows are used.",)


def test_of_the_raw_data_whose_features_a_model_was_trained_on_only_the_test_rows_are_used(tmp_path: Path) -> None:
    path = without_split(tmp_path)
    dataset = load_dataset(path, taxonomy=TOY)
    samples = load_test_samples(path, TOY, trained_on="of the features", embedded_from=dataset.fingerprint)
    assert samples.labels.tolist() == dataset.labels[dataset.rows("test")].tolist()
    assert len(load_test_samples(path, TOY, trained_on="of the features").labels) == len(dataset)


def test_vectors_a_model_was_trained_on_are_recognised_in_double_precision_too(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, features=np.random.default_rng(0).normal(size=(60, 2)), labels=np.arange(60) % 3)
    dataset = load_dataset(path, taxonomy=TOY)
    assert len(load_test_samples(path, TOY, trained_on=dataset.fingerprint).labels) == len(dataset.rows("test"))


def test_another_file_than_the_one_a_model_was_trained_on_is_used_whole(tmp_path: Path) -> None:
    trained_on = load_dataset(without_split(tmp_path), taxonomy=TOY).fingerprint
    assert len(load_test_samples(without_split(tmp_path, 59), TOY, trained_on=trained_on).labels) == 59


def test_a_split_without_test_rows_cannot_be_tested_on(tmp_path: Path) -> None:
    path = written(tmp_path, "text,label,split\nmiaow,cat,train\nwoof,dog,train\n")
    with pytest.raises(DataError, match="no row belongs to the split 'test'"):
        load_test_samples(path, TOY)


def test_a_built_in_data_set_is_only_for_models_of_its_own_taxonomy() -> None:
    with pytest.raises(DataError, match="icd10cm:9 has another taxonomy than the model"):
        load_test_samples("icd10cm:9", TOY)


def test_vectors_that_are_not_finite_cannot_be_tested_on(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", features=np.array([[1.0], [np.nan]]), labels=np.array([0, 1]))
    with pytest.raises(DataError, match=r"row 2, column 1 .*: expected a finite number, got nan"):
        load_test_samples(tmp_path / "v.npz", TOY)


def test_a_folder_of_images_gives_its_folder_test(tmp_path: Path) -> None:
    write(photos(tmp_path, top=("train", "test")) / "notes.txt", b"")
    samples = load_test_samples(tmp_path, TREE)
    assert isinstance(samples.inputs, Images)
    assert [Path(samples.inputs.name(row)).parts[-4] for row in range(6)] == ["test"] * 6
    assert samples.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert samples.notes == (f"{tmp_path}: files that are not images are left out: 1 .txt (1 in all).",)


def test_of_the_folder_a_model_was_trained_on_only_the_test_images_are_used(tmp_path: Path) -> None:
    dataset = load_dataset(photos(tmp_path, each=20))
    samples = load_test_samples(tmp_path, dataset.taxonomy, trained_on=dataset.fingerprint)
    assert isinstance(samples.inputs, Images)
    assert np.array_equal(samples.inputs.digests, dataset.inputs.take(dataset.rows("test")).digests)
    assert samples.notes[-1].endswith("test rows are used.")


def test_faulty_images_to_test_on_are_fatal_or_left_out(tmp_path: Path) -> None:
    write(photos(tmp_path, top=("test",)) / "test" / "pet" / "cat" / "0.png", b"text")
    with pytest.raises(DataError, match="not an image"):
        load_test_samples(tmp_path, TREE)
    samples = load_test_samples(tmp_path, TREE, on_error="skip")
    assert (samples.labels.tolist(), len(samples.notes)) == ([0, 1, 1, 2, 2], 2)
