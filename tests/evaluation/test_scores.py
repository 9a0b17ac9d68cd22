import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from hiercos import Taxonomy
from hiercos.errors import DataError
from hiercos.evaluation.image_predictions import LabelledImages
from hiercos.evaluation.scores import read_scores, read_speciesnet
from trees import TOY

SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])


def text_file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def npz(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "scores.npz", **{name: np.asarray(values) for name, values in arrays.items()})
    return folder / "scores.npz"


def fault_of(path: Path, taxonomy: Taxonomy = TOY) -> str:
    with pytest.raises(DataError) as error:
        read_scores(path, taxonomy)
    return str(error.value).replace(str(path), path.name)


def test_npz_scores_keep_their_type_and_labels_may_be_names_or_indices(tmp_path: Path) -> None:
    for labels in (["cat", "vehicle > car"], [0, 2]):
        found = read_scores(npz(tmp_path, scores=SCORES.astype(np.float16), labels=labels), TOY)
        assert found.labels.tolist() == [0, 2]
        assert found.scores.dtype == np.float16
        assert found.depth == 3


def test_npz_columns_may_be_in_another_order(tmp_path: Path) -> None:
    path = npz(tmp_path, scores=SCORES, labels=[0, 2], classes=["car", "cat", "dog"])
    np.testing.assert_array_equal(read_scores(path, TOY).scores, SCORES[:, [1, 2, 0]])


def test_ranked_names_become_falling_scores_and_the_rest_is_lowest(tmp_path: Path) -> None:
    expected = [[1.0, 2.0, 0.0], [0.0, 1.0, 2.0]]
    whole = read_scores(npz(tmp_path, ranked=[["dog", "cat"], ["car", "dog"]], labels=["cat", "car"]), TOY)
    table = text_file(tmp_path, "ranked.csv", "label,rank_1,rank_2\ncat,dog,cat\ncar,car,dog\n")
    for found in (whole, read_scores(table, TOY)):
        assert found.scores.tolist() == expected
        assert found.labels.tolist() == [0, 2]
        assert found.depth == 2


def test_tables_of_scores_have_a_column_for_each_class(tmp_path: Path) -> None:
    text = text_file(tmp_path, "s.csv", "car,label,cat,pet > dog\n0.1,cat,0.7,0.2\n\n0.6,car,0.1,0.3\n")
    columns = {"label": ["cat", "car"], "dog": SCORES[:, 1], "cat": SCORES[:, 0], "car": SCORES[:, 2]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "s.parquet")
    for path in (text, tmp_path / "s.parquet"):
        found = read_scores(path, TOY)
        np.testing.assert_array_equal(found.scores, SCORES)
        assert found.labels.tolist() == [0, 2]


def test_a_doubled_class_column_is_named(tmp_path: Path) -> None:
    path = text_file(tmp_path, "s.csv", "label,cat,pet > cat,dog\ncat,1,2,3\n")
    assert fault_of(path) == "s.csv: expected one score column for class 'cat', got 2"


def test_classes_without_a_column_are_ranked_last(tmp_path: Path) -> None:
    table = text_file(tmp_path, "s.csv", "label,car,dog\ncat,0.1,0.7\ndog,0.4,0.2\n")
    arrays = npz(tmp_path, labels=[0, 1], scores=[[0.1, 0.7], [0.4, 0.2]], classes=["car", "dog"])
    for path in (table, arrays):
        found = read_scores(path, TOY)
        assert found.scores.tolist() == [[-np.inf, 0.7, 0.1], [-np.inf, 0.2, 0.4]]
        assert found.depth == 2
        assert "1 of 3 classes have no score column (such as 'pet > cat'): they are ranked last" in found.notes[0]


def test_unnamed_columns_of_some_classes_are_refused_with_a_way_out(tmp_path: Path) -> None:
    fault = fault_of(npz(tmp_path, labels=[0], scores=[[1.0, 2.0]]))
    assert "shape (M, 3), one column per class, got (1, 2)" in fault
    assert fault.endswith("an array 'classes' names the columns if not every class has one")
    wrong = fault_of(npz(tmp_path, labels=[0], scores=[[1.0, 2.0]], classes=["cat"]))
    assert "shape (M, 1), one column per class, got (1, 2)" in wrong


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("label,cat,dog,car\ncat,1,2,x\n", "s.csv: row 2: expected a number in every class column"),
        ("label,cat,dog,car\ncat,1,2\n", "s.csv: row 2: expected 4 cells as in the header, got 3"),
        ("label,cat,dog,car\ncat,1,2,3\ncat,1,nan,3\n", "s.csv: row 3: a score is NaN"),
        ("label,cat,dog,car\n", "s.csv: expected at least one row below the header, got none"),
        ("cat,dog,car\n1,2,3\n", "s.csv: expected a column 'label' and one column per class; there are: cat"),
        ("label,cat,dog,cra\ncat,1,2,3\n", "s.csv: score column 3: unknown label 'cra'"),
        ("label,cat,dog,car\nsnake,1,2,3\n", "s.csv: row 2: unknown label 'snake'"),
        ("label,rank_1,rank_2\ncat,dog,dog\n", "s.csv: row 2: a class is ranked twice"),
        ("label,rank_1,rank_2\ncat,dog,snake\n", "s.csv: row 2: unknown label 'snake'"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_sentence_with_its_row(tmp_path: Path, text: str, fault: str) -> None:
    assert fault_of(text_file(tmp_path, "s.csv", text)).startswith(fault)


def test_what_is_wrong_with_an_npz_is_one_sentence(tmp_path: Path) -> None:
    assert "expected an array 'scores' (M, C) or 'ranked' (M, K)" in fault_of(npz(tmp_path, labels=[0]))
    assert "shape (M, 3), one column per class, got (1, 2)" in fault_of(npz(tmp_path, labels=[0], scores=[[1.0, 2.0]]))
    assert "one label for each of 2 rows, got 1" in fault_of(npz(tmp_path, labels=[0], scores=SCORES))
    assert "row 1 (index 0): a score is NaN" in fault_of(npz(tmp_path, labels=[0], scores=[[np.nan, 0.0, 0.0]]))
    assert "K from 1 to 3, got (1, 4)" in fault_of(npz(tmp_path, labels=[0], ranked=[[0, 1, 2, 0]]))


def test_other_files_are_refused(tmp_path: Path) -> None:
    assert fault_of(text_file(tmp_path, "s.txt", "")) == (
        "s.txt: expected scores in .npz, .csv, .tsv or .parquet, or predictions by image in .json"
    )
    (tmp_path / "latin.csv").write_bytes("label,cat,dog,car\ncaf\u00e9,1,2,3\n".encode("latin-1"))
    assert fault_of(tmp_path / "latin.csv").startswith("latin.csv: row 2: byte 0xe9 is not UTF-8")
    assert "expected a Parquet file" in fault_of(text_file(tmp_path, "s.parquet", "no"))


@pytest.mark.parametrize("arrays", [{"scores": np.zeros((0, 3))}, {"ranked": np.zeros((0, 2), dtype=int)}])
@pytest.mark.parametrize("kind", [int, float, str])
def test_arrays_without_samples_are_refused(tmp_path: Path, arrays: dict, kind: type) -> None:
    path = npz(tmp_path, labels=np.zeros(0, dtype=kind), **arrays)
    assert fault_of(path) == "scores.npz: expected at least one sample, got none in 'labels'"


@pytest.mark.parametrize("header", ["label,cat,dog,car", "label,rank_1"])
def test_tables_without_samples_are_refused(tmp_path: Path, header: str) -> None:
    columns = {name: pyarrow.array([], pyarrow.string()) for name in header.split(",")}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "s.parquet")
    for path in (text_file(tmp_path, "s.csv", header + "\n"), tmp_path / "s.parquet"):
        assert fault_of(path) == f"{path.name}: expected at least one row below the header, got none"


def test_labels_go_with_predictions_by_image_and_with_nothing_else(tmp_path: Path) -> None:
    labels = LabelledImages(("a.jpg",), np.array([0]), "labels.csv")
    with pytest.raises(DataError, match=r"expected predictions by image, without labels, because labels\.csv has them"):
        read_scores(npz(tmp_path, scores=SCORES, labels=[0, 2]), TOY, labels)
    path = text_file(tmp_path, "p.csv", "file_name,species,score\na.jpg,cat,0.5\n")
    assert fault_of(path) == ("p.csv: predictions by image hold no labels: expected a table of them (--labels FILE)")
    assert read_scores(path, TOY, labels).scores.tolist() == [[1.0, 0.0, 0.0]]
    path = text_file(tmp_path, "p.json", '{"predictions": [{"filepath": "/x/a.jpg", "prediction": "cat"}]}')
    assert read_scores(path, TOY, labels).scores.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("header", "faults"),
    [
        (
            "file_name,family,prob",
            ["expected a column 'score' for predictions by image; there are: file_name, family, prob"],
        ),
        (
            "photo,family,scores",
            [
                "expected a column of images, file_name or filepath or image or path; there are: photo, family, scores",
                "expected a column 'score' for predictions by image; did you mean 'scores'?",
            ],
        ),
        ("label,cat,dog,car", ["expected no labels among predictions by image, got a column 'label'"]),
    ],
)
def test_what_keeps_a_table_from_being_predictions_by_image_is_named(
    tmp_path: Path, header: str, faults: list[str]
) -> None:
    path = text_file(tmp_path, "p.csv", f"{header}\n")
    with pytest.raises(DataError) as error:
        read_scores(path, TOY, LabelledImages(("a.jpg",), np.array([0]), "labels.csv"))
    assert list(error.value.faults) == [f"{path}: {fault}" for fault in faults]


def test_scores_without_names_are_read_in_the_order_of_the_taxonomy_and_a_note_says_so(tmp_path: Path) -> None:
    path = npz(tmp_path, labels=[0], scores=[[1.0, 2.0, 0.0]])
    assert read_scores(path, TOY).notes == (
        f"{path} has no array 'classes': its score columns are read in the taxonomy's order of classes "
        "('cat', 'dog', 'car').",
    )
    named = npz(tmp_path, labels=[0], scores=[[1.0, 2.0, 0.0]], classes=["cat", "dog", "car"])
    assert read_scores(named, TOY).notes == ()


LION = "ddf59264-185a-4d35-b647-2785792bdf54;mammalia;carnivora;felidae;panthera;leo;lion"
CATS = "df8514b0-10a5-411f-8ed6-0f415e8153a3;mammalia;carnivora;felidae;;;cat family"
BIRD = "b1352069-a39c-4a84-a949-60044271c0c1;aves;;;;;bird"
BLANK = "f1856211-cfb7-4a5b-9158-c0f72fd09ee6;;;;;;blank"


def found(folder: Path, content: object) -> list[tuple[str, list[str]]]:
    (folder / "p.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return [
        (image.image, [prediction.shown for prediction in image.predictions])
        for image in read_speciesnet(folder / "p.json")
    ]


def image(path: str = "a.jpg", **values: object) -> dict[str, object]:
    return {"filepath": path, "model_version": "4.0.1a", **values}


def faults(folder: Path, content: object) -> list[str]:
    with pytest.raises(DataError) as error:
        found(folder, content)
    return [fault.removeprefix(f"{folder / 'p.json'}: ") for fault in error.value.faults]


def test_the_final_answer_goes_first_and_then_the_classes_by_score(tmp_path: Path) -> None:
    classified = {"classes": [BLANK, LION, BIRD], "scores": [0.2, 0.7, 0.1]}
    whole = image(classifications=classified, detections=[], prediction=CATS, prediction_score=0.8)
    alone = image("b.jpg", classifications=classified)
    failed = image("c.jpg", failures=["CLASSIFIER"])
    assert found(tmp_path, {"predictions": [whole, alone, failed]}) == [
        ("a.jpg", ["cat family", "lion", "blank", "bird"]),
        ("b.jpg", ["lion", "blank", "bird"]),
        ("c.jpg", []),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (LION, (LION[:36], "mammalia > carnivora > felidae > panthera > leo",
                "mammalia > carnivora > felidae > panthera > panthera leo", "panthera leo", "lion")),
        (CATS, (CATS[:36], "mammalia > carnivora > felidae", "felidae", "cat family")),
        (BIRD, (BIRD[:36], "aves", "bird")),
        (BLANK, (BLANK[:36], "blank")),
        ("wolf", ("wolf",)),
    ],
)  # fmt: skip
def test_a_class_is_known_by_id_path_scientific_and_common_name(
    tmp_path: Path, text: str, names: tuple[str, ...]
) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"predictions": [image(prediction=text)]}), encoding="utf-8")
    ((prediction,),) = [image.predictions for image in read_speciesnet(tmp_path / "p.json")]
    assert prediction.names == names


def test_every_fault_is_said_with_its_number(tmp_path: Path) -> None:
    wrong = [
        7,
        image(""),
        image(classifications={"classes": [LION], "scores": []}),
        image("b.jpg", classifications={"classes": [1], "scores": [1]}),
        image("c.jpg", classifications=[], prediction=3),
        image("d.jpg", classifications={"classes": [LION], "scores": [float("nan")]}),
        image("d.jpg"),
    ]
    numbers = "expected a number in 'classifications', 'scores', for each of the classes"
    assert faults(tmp_path, {"predictions": wrong}) == [
        "prediction 1: expected an object, got 7",
        "prediction 2: expected a path in 'filepath', got ''",
        f"prediction 3: {numbers}",
        "prediction 4: expected a list of texts in 'classifications', 'classes'",
        "prediction 5: expected text in 'prediction', got 3",
        "prediction 5: expected a list of texts in 'classifications', 'classes'",
        f"prediction 6: {numbers}",
        "'d.jpg' appears 2 times",
    ]


@pytest.mark.parametrize("content", [[], {"images": []}, {"predictions": []}, {"predictions": {"a": 1}}])
def test_other_json_is_refused(tmp_path: Path, content: object) -> None:
    assert faults(tmp_path, content) == ["expected predictions of SpeciesNet, an object with a list 'predictions'"]


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "{")
    assert fault.startswith("expected predictions of SpeciesNet in JSON (")
