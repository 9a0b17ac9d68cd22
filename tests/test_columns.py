"""Rows of columns get the same answers from the command, the estimator, the pipeline, the service and the ONNX file."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hiercos import HierarchicalClassifier
from hiercos.cli.app import run
from hiercos.data import column_kinds, completed, load_dataset
from hiercos.hub import load_pipeline
from hiercos.methods import folds
from hiercos.model import Classifier
from hiercos.onnx import OnnxModel, export_onnx
from hiercos.onnx.format import OnnxError

LEVELS = ("level_1", "level_2")
KINDS = {"title": "text", "brand": "category", "price": "number", "vec": "vector"}
PRICES = {"Audio > Earbuds": 60, "Audio > Speakers": 180, "Home > Kettles": 30, "Home > Lamps": 90}


def table(count: int = 400) -> pd.DataFrame:
    """Goods of which half have a title that tells nothing, but a brand and a price."""
    draw, rows = np.random.default_rng(0), []
    for _ in range(count):
        label = str(draw.choice(list(PRICES)))
        word = label.rpartition(" ")[2].lower() if draw.random() < 0.5 else "thing"
        brand = {"A": "Acme", "H": "Zen"}[label[0]] if draw.random() < 0.8 else None
        price = None if draw.random() < 0.1 else round(PRICES[label] * draw.uniform(0.8, 1.2), 2)
        vector = json.dumps([len(word) % 3, round(draw.normal(), 3)])
        rows.append([f"{draw.choice(['new', 'used'])} {word}", brand, price, vector, label])
    return pd.DataFrame(rows, columns=[*KINDS, "label"])


@pytest.fixture(scope="module")
def goods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("goods") / "goods.csv"
    table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(goods: Path) -> Path:
    folder = goods.parent / "model"
    columns = ",".join(f"{name}:{kind}" for name, kind in KINDS.items())
    common = ("--method", "siblings", "--rule", "none", "--no-test")
    assert run(["train", str(goods), "--columns", columns, *common, "--out", str(folder)]) == 0
    return folder


def probabilities(answers: list[dict[str, Any]]) -> list[tuple[str, float]]:
    return [
        (" > ".join(answer[level] for level in LEVELS), round(float(answer["confidence"]), 4)) for answer in answers
    ]


@pytest.fixture(scope="module")
def expected(goods: Path, model: Path) -> list[tuple[str, float]]:
    output = goods.parent / "answers.csv"
    assert run(["predict", str(model), str(goods), "--output", str(output)]) == 0
    with output.open(encoding="utf-8") as file:
        return probabilities(list(csv.DictReader(file)))


def test_columns_tell_what_titles_do_not(expected: list[tuple[str, float]]) -> None:
    assert np.mean([answer == label for (answer, _), label in zip(expected, table()["label"], strict=True)]) > 0.95


def test_the_estimator_and_the_command_train_the_same_model(expected: list[tuple[str, float]], model: Path) -> None:
    given = table()
    estimator = HierarchicalClassifier(method="siblings", rule="none", columns={"title": "text", "brand": "category"})
    estimator.fit(given.drop(columns="label"), given["label"])
    stored = Classifier.load(model)
    assert estimator.classifier_.columns == stored.columns == KINDS
    for name, tensor in stored.model.state_dict().items():
        assert (tensor == estimator.classifier_.model.state_dict()[name]).all(), name
    assert estimator.predict(given).tolist() == [answer for answer, _ in expected]
    again = {name: given[name].tolist() for name in KINDS}
    np.testing.assert_array_equal(estimator.predict_proba(again), estimator.predict_proba(given))


@pytest.mark.parametrize("form", ["frame", "dict", "rows"])
def test_the_pipeline_takes_a_table_in_any_form(expected: list[tuple[str, float]], model: Path, form: str) -> None:
    given: Any = table()
    if form != "frame":
        given = given.to_dict("list") if form == "dict" else given.to_dict("records")
    assert probabilities(load_pipeline(str(model), device="cpu")(given)) == expected


def test_an_exported_file_answers_as_the_folder(
    expected: list[tuple[str, float]], model: Path, goods: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    export_onnx(Classifier.load(model)).write(tmp_path / "goods.onnx")
    opened = OnnxModel.load(tmp_path / "goods.onnx")
    assert opened.columns == KINDS
    found = probabilities(opened.answers(table()))
    assert [answer for answer, _ in found] == [answer for answer, _ in expected]
    np.testing.assert_allclose([each for _, each in found], [each for _, each in expected], atol=2e-4)
    assert run(["predict", str(tmp_path / "goods.onnx"), str(goods), "--output", str(tmp_path / "answers.csv")]) == 0


def test_the_service_takes_rows_as_objects(expected: list[tuple[str, float]], model: Path) -> None:
    pytest.importorskip("fastapi")
    from hiercos.serve import served_model
    from serving import client_of

    rows = json.loads(table().drop(columns="label").to_json(orient="records"))[:20]
    with client_of(served_model("goods", model, Classifier.load(model))) as client:
        found = client.post("/predict", json={"inputs": rows}).json()["answers"]
        wrong = client.post("/predict", json={"inputs": {"titel": "x"}})
        csv_rows = client.post("/predict/table", content=table().to_csv(), headers={"Content-Type": "text/csv"}).text
    assert probabilities(found) == expected[:20]
    assert (wrong.status_code, wrong.json()["error"]) == (
        422,
        "inputs: row 1: there is no column 'titel'; did you mean 'title'?",
    )
    assert probabilities(list(csv.DictReader(csv_rows.splitlines()))) == expected


def test_reasons_name_the_columns(model: Path) -> None:
    (answer,) = Classifier.load(model).answers(
        {"title": "used kettles", "brand": "Zen", "price": 31, "vec": None}, explain=True
    )
    named = [each["feature"] for reason in answer["reasons"] for each in reason["features"]]
    assert {"title: kettles", "price: 31"} <= {*named}
    assert "brand: Zen" in named


def test_an_unknown_number_or_column_is_one_sentence(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / "goods.csv", tmp_path / "answers.csv"
    for text, said in (
        ("title,brand,price,vec\nx,Acme,cheap,\n", "row 2: 'price': expected a number, got 'cheap'"),
        ("titel,brand,price,vec\nx,Acme,1,\n", "expected a column 'title'; did you mean 'titel'?"),
    ):
        path.write_text(text, encoding="utf-8")
        assert run(["predict", str(model), str(path), "--output", str(output)]) == 2
        assert said in capsys.readouterr().err
        assert not output.exists()


def test_columns_of_groups_and_times_make_the_split(
    goods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = pd.read_csv(goods)
    given["seller"] = [f"s{row // 4}" for row in range(len(given))]
    given["day"] = [f"2024-{1 + row // 40:02d}-{1 + row // 4 % 28:02d}" for row in range(len(given))]
    given["n"] = 1 + np.arange(len(given)) % 3
    given.to_csv(tmp_path / "goods.csv", index=False)
    columns = "title:text,price,seller:group,day:time,n:weight"
    dataset = completed(load_dataset(tmp_path / "goods.csv", columns=column_kinds(columns)))
    assert dataset.groups is not None
    assert dataset.times is not None
    assert dataset.weights is not None
    assert dataset.weights.tolist() == given["n"].tolist()
    assert dataset.times[dataset.split != "test"].max() < dataset.times[dataset.split == "test"].min()
    assert all(len({*dataset.split[dataset.groups == group]}) == 1 for group in {*dataset.groups})
    common = ("--columns", columns, "--method", "siblings", "--out", str(tmp_path / "model"))
    assert run(["train", str(tmp_path / "goods.csv"), *common]) == 0
    assert run(["evaluate", str(tmp_path / "model"), str(tmp_path / "goods.csv")]) == 0
    assert f"only its {(dataset.split == 'test').sum()} test rows are used" in capsys.readouterr().err


def test_groups_of_the_estimator_are_never_divided_by_folds() -> None:
    labels = np.arange(60) % 3
    groups = np.arange(60) // 5
    masks = folds(labels, 3, 0, groups)
    assert sum(mask.sum() for mask in masks) == 60
    assert all({*groups[mask]}.isdisjoint(groups[~mask]) for mask in masks)
    estimator = HierarchicalClassifier(method="siblings")
    given = table(60)
    estimator.fit(given["title"].tolist(), given["label"], groups=groups)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(given["title"].tolist(), given["label"], groups=groups[:-1])


def test_a_column_of_images_has_features_of_a_backbone(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    colours, rows = {"a > red": (200, 30, 30), "b > blue": (30, 30, 200)}, []
    for row in range(24):
        label = list(colours)[row % 2]
        path = tmp_path / f"{row}.png"
        image.new("RGB", (16, 16), tuple(min(255, part + row) for part in colours[label])).save(path)
        rows.append({"photo": str(path) if row % 6 else "", "price": row, "label": label})
    given = pd.DataFrame(rows)
    estimator = HierarchicalClassifier(method="logistic", encoder="efficientnet-lite0")
    estimator.fit(given.drop(columns="label"), given["label"])
    assert estimator.classifier_.columns == {"photo": "image", "price": "number"}
    there = given["photo"] != ""
    assert (estimator.predict(given)[there] == given["label"][there]).all()
    estimator.save(tmp_path / "model")
    again = HierarchicalClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(given), estimator.predict_proba(given))
    with pytest.raises(OnnxError, match="no backbone beside other columns"):
        export_onnx(estimator.classifier_)
