from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy, TaxonomyError
from hiercos.data import BUILT_IN, load_dataset, load_test_samples
from hiercos.data.images.collections import Images
from hiercos.errors import DataError
from pictures import TREE, photos, write
from trees import TOY

ROWS = [("a cat", "cat", "train"), ("a dog", "pet > dog", "train"), ("a car", "car", "val"), ("my cat", "cat", "test")]


def table(folder: Path, rows: list[tuple[str, ...]], header: str = "text,label,split") -> Path:
    path = folder / "toy.csv"
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def vectors(folder: Path, **arrays: np.ndarray) -> Path:
    path = folder / "toy.npz"
    np.savez(path, **arrays)
    return path


def fault_of(path: str | Path, **options) -> str:
    with pytest.raises(DataError) as error:
        load_dataset(path, **options)
    return str(error.value).replace(str(path), Path(path).name)


def test_columns_of_a_table_that_are_not_read_are_named(tmp_path: Path) -> None:
    path = table(tmp_path, [(*row, "7") for row in ROWS], "text,label,split,price")
    assert load_dataset(path, taxonomy=TOY).notes == (f"{path}: columns that are not read: 'price'.",)
    assert load_test_samples(path, TOY).notes == (f"{path}: columns that are not read: 'price'.",)


def test_a_table_is_read_with_its_taxonomy(tmp_path: Path) -> None:
    dataset = load_dataset(table(tmp_path, ROWS), taxonomy=TOY)
    assert (dataset.name, dataset.kind, dataset.notes) == ("toy", "texts", ())
    assert tuple(dataset.inputs) == ("a cat", "a dog", "a car", "my cat")
    assert dataset.labels.tolist() == [0, 1, 2, 0]
    assert dataset.split.tolist() == ["train", "train", "val", "test"]


def test_the_columns_of_a_table_can_be_named(tmp_path: Path) -> None:
    path = table(tmp_path, ROWS, header="title,code,fold")
    dataset = load_dataset(str(path), taxonomy=TOY, input_column="title", label_column="code", split_column="fold")
    assert dataset.labels.tolist() == [0, 1, 2, 0]


def test_a_taxonomy_file_is_read(tmp_path: Path) -> None:
    tree = tmp_path / "tree.txt"
    tree.write_text("pet > cat\npet > dog\nvehicle > car\n", encoding="utf-8")
    assert load_dataset(table(tmp_path, ROWS), taxonomy=tree).taxonomy == TOY
    tree.write_text("", encoding="utf-8")
    with pytest.raises(TaxonomyError, match="the file has no rows"):
        load_dataset(table(tmp_path, ROWS), taxonomy=str(tree))


def test_an_unknown_label_names_the_file_of_the_taxonomy(tmp_path: Path) -> None:
    tree = tmp_path / "tree.txt"
    tree.write_text("pet > cat\npet > dog\nvehicle > car\n", encoding="utf-8")
    path = table(tmp_path, [*ROWS, ("x", "cow", "test"), ("x", "catt", "test")])
    assert fault_of(path, taxonomy=tree).splitlines() == [
        f"toy.csv: row 6: unknown label 'cow': not in {tree}",
        f"toy.csv: row 7: unknown label 'catt': not in {tree}; the nearest known label is 'cat'",
    ]


def test_another_kind_of_inputs_is_reported_before_the_labels(tmp_path: Path) -> None:
    path = vectors(tmp_path, features=np.eye(2), labels=np.array(["cow", "bat"]))
    with pytest.raises(DataError) as error:
        load_test_samples(path, TOY, kinds=("texts",))
    assert str(error.value) == (
        "expected a table (.csv, .tsv, .parquet, .jsonl, .json) of texts because this model takes texts, "
        f"got {path} with vectors"
    )
    known = vectors(tmp_path, features=np.eye(2), labels=np.array(["cat", "dog"]))
    assert len(load_test_samples(known, TOY, kinds=("texts", "vectors")).labels) == 2


def test_a_taxonomy_of_the_catalogue_goes_by_its_name(tmp_path: Path) -> None:
    rows = [("a", "apple", "train"), ("b", "worm", "train"), ("c", "apple", "val"), ("d", "worm", "test")]
    assert load_dataset(table(tmp_path, rows), taxonomy="cifar100").labels.tolist() == [0, 99, 0, 99]


def test_vectors_are_read_with_names_or_class_indices(tmp_path: Path) -> None:
    split = np.array(["train", "train", "val", "test"])
    for labels in (np.array(["cat", "dog", "car", "cat"]), np.array([0, 1, 2, 0], dtype=np.int8)):
        path = vectors(tmp_path, features=np.eye(4), labels=labels, split=split)
        dataset = load_dataset(path, taxonomy=TOY)
        assert (dataset.kind, dataset.labels.tolist()) == ("vectors", [0, 1, 2, 0])


def test_without_a_split_one_is_made_by_content_and_said(tmp_path: Path) -> None:
    rows = [(f"text {number}", ("cat", "dog", "car")[number % 3]) for number in range(60)]
    forward = load_dataset(table(tmp_path, rows, "text,label"), taxonomy=TOY)
    backward = load_dataset(table(tmp_path, rows[::-1], "text,label"), taxonomy=TOY)
    assert forward.split.tolist() == backward.split.tolist()[::-1]
    assert [note.replace(str(tmp_path), "") for note in forward.notes] == [
        "/toy.csv has no split: 10% test samples were chosen by hash of each sample."
    ]


def test_equal_vectors_and_texts_that_differ_in_case_share_a_split(tmp_path: Path) -> None:
    features = np.repeat(np.arange(50.0)[:, None], 2, axis=0)
    split = load_dataset(vectors(tmp_path, features=features, labels=np.arange(100) % 3), taxonomy=TOY).split
    assert (split[::2] == split[1::2]).all()
    rows = [(text, "cat" if number % 3 else "dog") for number in range(50) for text in (f"A {number}", f"a  {number}")]
    split = load_dataset(table(tmp_path, rows, "text,label"), taxonomy=TOY).split
    assert (split[::2] == split[1::2]).all()


def test_a_file_too_small_to_be_split_by_hash_asks_for_a_split(tmp_path: Path) -> None:
    path = table(tmp_path, [("a", "cat"), ("b", "dog")], "text,label")
    assert fault_of(path, taxonomy=TOY).startswith(
        "toy.csv: the split was made by hash of too few different rows (2 in all), which"
    )


def test_without_a_taxonomy_one_is_made_from_the_paths_and_said(tmp_path: Path) -> None:
    rows = [("a", "pet > dog", "train"), ("b", "vehicle>car", "train"), ("c", "pet > cat", "val"), ("d", "sun", "test")]
    path = table(tmp_path, rows)
    dataset = load_dataset(path)
    assert dataset.taxonomy == Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("sun",), ("vehicle", "car")])
    assert dataset.labels.tolist() == [1, 3, 0, 2]
    assert dataset.notes == (f"{path} came without a taxonomy: one with 4 classes was made from the labels.",)


def test_names_without_a_taxonomy_ask_for_one(tmp_path: Path) -> None:
    expected = "are not paths: expected a taxonomy (--taxonomy FILE), or labels such as 'a > b > c'"
    assert fault_of(table(tmp_path, [("a", "cat", "train")])) == f"toy.csv: the labels (such as 'cat') {expected}"
    path = vectors(tmp_path, features=np.eye(2), labels=np.array([4, 5]))
    assert fault_of(path) == f"toy.npz: the labels (such as '4') {expected}"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROWS, ("", "cat", "test")], "toy.csv: row 6: the text is empty; --on-error skip leaves such rows out"),
        ([*ROWS, ("x", "cow", "test")], "toy.csv: row 6: unknown label 'cow'"),
        (
            [*ROWS, ("x", "cat", "dev")],
            "toy.csv: row 6: expected train, val or test as the split, got 'dev'; did you mean 'val'?",
        ),
        (ROWS[:3], "toy.csv: no row belongs to the split 'test'; expected rows of train and test"),
        (
            [("a cat", "cat", "train"), ("my cat", "cat", "val"), ROWS[3]],
            "toy.csv: every training sample has the label 'pet > cat'; expected at least two classes",
        ),
    ],
)
def test_faults_of_a_table_name_its_rows(tmp_path: Path, rows: list[tuple[str, ...]], message: str) -> None:
    assert fault_of(table(tmp_path, rows), taxonomy=TOY) == message


def test_rows_with_unknown_labels_are_left_out_and_counted(tmp_path: Path) -> None:
    unknown = [("a", "cow", "train"), ("b", "hen", "test"), ("c", "cow", "test")]
    path = table(tmp_path, [*unknown, *ROWS])
    note = f"{path}: 3 of {len(ROWS) + 3} rows have labels that cannot be used; left out: 'cow' (2), 'hen' (1)."
    found = load_dataset(path, taxonomy=TOY, on_error="skip")
    assert list(found.inputs) == [text for text, _, _ in ROWS]
    assert note in found.notes
    tested = load_test_samples(path, TOY, on_error="skip")
    assert list(tested.inputs) == [text for text, _, split in ROWS if split == "test"]
    assert note in tested.notes


def test_empty_texts_unknown_labels_and_splits_are_reported_together(tmp_path: Path) -> None:
    rows = [*ROWS, *[("", "cat", "test")] * 30, ("x", "cow", "test"), ("y", "cat", "dev")]
    path = table(tmp_path, rows)
    shown = fault_of(path, taxonomy=TOY).splitlines()
    assert shown[:2] == [
        "toy.csv: row 6: the text is empty; --on-error skip leaves such rows out",
        "toy.csv: row 7: the text is empty",
    ]
    assert shown[-3:] == [
        "toy.csv: row 36: unknown label 'cow'",
        "toy.csv: row 37: expected train, val or test as the split, got 'dev'; did you mean 'val'?",
        "and 12 more faults",
    ]
    with pytest.raises(DataError, match=r"row 6: the text is empty.*\n(.*\n)*.*unknown label 'cow'"):
        load_test_samples(path, TOY)


def test_empty_texts_are_reported_with_labels_that_make_no_taxonomy(tmp_path: Path) -> None:
    shown = fault_of(table(tmp_path, [("", "cat", "train")])).splitlines()
    assert shown[0] == "toy.csv: row 2: the text is empty"
    assert shown[1].startswith("toy.csv: the labels (such as 'cat') are not paths")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"labels": np.array(["cat"])},
            "toy.npz: expected 'labels' of shape (2,) like the rows of 'features', got (1,)",
        ),
        (
            {"split": np.array(["train"])},
            "toy.npz: expected 'split' of shape (2,) like the rows of 'features', got (1,)",
        ),
        ({"labels": np.array(["cat", "cow"])}, "toy.npz: row 2 (index 1): unknown label 'cow'"),
        (
            {"features": np.array([[0.0, 1.0], [np.nan, 0.0]])},
            "toy.npz: row 2, column 1 (features[1, 0]): expected a finite number, got nan",
        ),
    ],
)
def test_faults_of_an_npz_name_its_rows(tmp_path: Path, arrays: dict, message: str) -> None:
    good = {"features": np.eye(2), "labels": np.array(["cat", "dog"])}
    assert fault_of(vectors(tmp_path, **{**good, **arrays}), taxonomy=TOY) == message


def test_built_in_data_are_described_present_and_loaded_by_name() -> None:
    assert BUILT_IN["icd10cm"].is_present(None)
    assert load_dataset("icd10cm:9, 10").name == "icd10cm:9,10"


def test_built_in_data_take_no_other_taxonomy() -> None:
    assert fault_of("icd10cm", taxonomy="tree.csv") == (
        "icd10cm brings its own taxonomy: expected no other, got tree.csv"
    )


def test_what_is_no_data_is_told_what_is_expected(tmp_path: Path) -> None:
    others = f"a folder of images or a built-in name ({', '.join(BUILT_IN)})"
    expected = f"expected a file (.npz, .csv, .tsv, .parquet, .jsonl, .json), {others}"
    (tmp_path / "a.xls").touch()
    assert fault_of(tmp_path / "icd10") == f"icd10: there is no such file; {expected}"
    missing = "there is no such file or folder, and no built-in data set of that name"
    assert fault_of("icd10cmm:9") == f"icd10cmm:9: {missing}; did you mean 'icd10cm'?"
    assert fault_of(tmp_path / "a.xls") == f"a.xls: the extension '.xls' is not known; {expected}"


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
