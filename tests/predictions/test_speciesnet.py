"""Predictions as SpeciesNet's run_model writes them: the whole ensemble, the classifier alone, and failures."""

import json
from pathlib import Path

import pytest

from hiercos.errors import DataError
from hiercos.predictions.speciesnet import read_speciesnet

LION = "ddf59264-185a-4d35-b647-2785792bdf54;mammalia;carnivora;felidae;panthera;leo;lion"
CATS = "df8514b0-10a5-411f-8ed6-0f415e8153a3;mammalia;carnivora;felidae;;;cat family"
BIRD = "b1352069-a39c-4a84-a949-60044271c0c1;aves;;;;;bird"
BLANK = "f1856211-cfb7-4a5b-9158-c0f72fd09ee6;;;;;;blank"


def found(folder: Path, content: object) -> list[tuple[str, list[str]]]:
    (folder / "p.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return [(image.image, [guess.shown for guess in image.guesses]) for image in read_speciesnet(folder / "p.json")]


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
    ((guess,),) = [image.guesses for image in read_speciesnet(tmp_path / "p.json")]
    assert guess.names == names


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
