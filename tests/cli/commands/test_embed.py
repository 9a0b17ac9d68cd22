"""From a folder of images to a model and its answers, with the command line alone."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from colours import TREE, colour_folder
from hiercos.cli.app import run
from hiercos.records import Record

FAST = ["--epochs", "3", "--device", "cpu"]
SMALL = ["--set", "backbone.size=32"]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return colour_folder(tmp_path_factory.mktemp("images") / "colours")


@pytest.fixture(scope="module")
def features(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("features") / "colours.npz"
    assert run(["embed", str(images), *SMALL, "--output", str(path)]) == 0
    return path


def test_features_stand_for_the_images(features: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(features) as arrays:
        assert arrays["features"].shape == (60, 1280)
        assert json.loads(str(arrays["backbone"]))["name"] == "efficientnet-lite0"
    assert (
        run(["compare", str(features), "--methods", "cross-entropy", "--seeds", "1", "--out", str(tmp_path), *FAST])
        == 0
    )
    assert "came without a taxonomy" not in capsys.readouterr().err


def test_a_model_of_features_predicts_images_as_a_model_of_the_images_does(
    images: Path, features: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--set", "width=32", "--rule", "none", "--method", "hier-cos"]
    assert run(["train", str(features), "--out", str(tmp_path / "m"), *options, *FAST]) == 0
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    capsys.readouterr()
    answers = []
    for folder in (tmp_path / "m", model):
        assert run(["predict", str(folder), str(images / "test"), "--device", "cpu"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    with np.load(features) as arrays:
        np.savez(tmp_path / "new.npz", features=arrays["features"][:2])
    assert run(["predict", str(tmp_path / "m"), str(tmp_path / "new.npz"), "--device", "cpu"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3  # a header and two rows
    metrics = []
    for data in (images, features):
        assert run(["evaluate", str(tmp_path / "m"), str(data), "--device", "cpu", "--format", "json"]) == 0
        metrics.append({row["metric"]: row["value"] for row in json.loads(capsys.readouterr().out)})
    assert metrics[0] == pytest.approx(metrics[1], abs=1e-5)


def test_a_model_of_features_whose_backbone_is_not_here_takes_vectors(
    features: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(features) as arrays:
        changed = dict(arrays)
    identity = json.loads(str(changed["backbone"]))
    for other, reason in (
        ({"weights": "0" * 64}, "the backbone 'efficientnet-lite0' found here has other weights."),
        ({"name": "efficientnet-lite9"}, "unknown backbone 'efficientnet-lite9'"),
    ):
        changed["backbone"] = np.array(json.dumps({**identity, **other}))
        np.savez(tmp_path / "f.npz", **changed)
        out = tmp_path / str(len(reason))
        assert run(["train", str(tmp_path / "f.npz"), "--method", "cross-entropy", "--out", str(out), *FAST]) == 0
        note = f"f.npz: the model takes vectors, because their backbone cannot be loaded: {reason}"
        assert note in capsys.readouterr().err
        assert json.loads((out / "config.json").read_text())["kind"] == "vectors"


@pytest.fixture(scope="module")
def model(images: Path, features: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "m"
    options = ["--set", "width=32", "--rule", "none"]
    assert run(["train", str(images), *SMALL, "--out", str(folder), "--method", "hier-cos", *options, *FAST]) == 0
    return folder


def test_a_model_of_images_predicts_from_files(model: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["predict", str(model), str(images / "test"), "--device", "cpu"]) == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 12
    assert list(rows[0]) == ["row", "image", "level_1", "level_2", "class", "score", "confidence"]
    right = [Path(row["image"]).parent.name == row["class"] for row in rows]
    assert sum(right) / 12 == pytest.approx(Record.read(model).metrics["top1"])
    assert "predicting 12/12 images" in err


def test_the_best_classes_of_each_image_are_scored_again_from_the_table(
    model: Path, images: Path, tmp_path: Path
) -> None:
    predictions, labels, tree = tmp_path / "top.csv", tmp_path / "labels.csv", tmp_path / "tree.csv"
    answers = ["predict", str(model), str(images / "test"), "--device", "cpu", "--top", "9"]
    assert run([*answers, "--output", str(predictions)]) == 0
    with predictions.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows[:5]] == ["1", "2", "3", "4", "1"]
    paths = dict.fromkeys(row["image"] for row in rows)
    labels.write_text("path,label\n" + "".join(f"{path},{Path(path).parent.name}\n" for path in paths))
    TREE.write(tree)
    files = ["--scores", str(predictions), "--labels", str(labels), "--taxonomy", str(tree)]
    assert run(["evaluate", *files, "--output", str(tmp_path / "metrics.json")]) == 0
    found = {row["metric"]: row["value"] for row in json.loads((tmp_path / "metrics.json").read_text())}
    record = Record.read(model).metrics
    assert {name: found[name] for name in ("top1", "hops")} == pytest.approx(
        {name: record[name] for name in ("top1", "hops")}
    )


def test_predictions_for_fiftyone_have_a_label_for_each_image(
    model: Path, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = ["predict", str(model), str(images / "test"), "--device", "cpu", "--format", "fiftyone"]
    assert run([*answers, "--output", str(tmp_path / "labels.json")]) == 0
    labels = json.loads((tmp_path / "labels.json").read_text())["labels"]
    assert set(labels) == {str(path.resolve()) for path in (images / "test").rglob("*.png")}
    assert all(0 < label["confidence"] <= 1 and label["label"] in TREE.class_names for label in labels.values())
    assert run([*answers, "--top", "2"]) == 2
    assert "--top: expected another format" in capsys.readouterr().err


def test_a_model_of_images_is_evaluated_on_the_test_images(
    model: Path, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["evaluate", str(model), str(images), "--device", "cpu", "--format", "json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)}
    record = Record.read(model)
    assert rows["top1"]["samples"] == 12
    assert rows["hops"]["value"] == pytest.approx(record.metrics["hops"], abs=1e-6)
    assert record.data["backbone"]["options"] == {"size": 32}


def test_a_backbone_is_trained_and_travels_with_the_model(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--backbone", "wide-resnet-28", "--set", "backbone.width=1", "--set", "backbone.size=8"]
    recipe = ["--set", "optimizer=sgd", "--lr", "0.02", "--method", "cross-entropy"]
    recipe += ["--unfreeze", "--set", "from_scratch=true", "--set", "backbone_learning_rate=0.02"]
    assert run(["train", str(images), *options, *recipe, "--out", str(tmp_path / "m"), *FAST]) == 0
    record = json.loads((tmp_path / "m" / "record.json").read_text())
    assert record["config"]["augment"] == "pad-crop"
    assert record["history"][-1]["loss"] < record["history"][0]["loss"]
    capsys.readouterr()
    assert run(["predict", str(tmp_path / "m"), str(images / "test"), "--device", "cpu"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "from_scratch=true"], "--set from_scratch: expected --unfreeze with it"),
        (["--set", "backbone_learning_rate=0.1"], "--set backbone_learning_rate: expected --unfreeze with it"),
        (["--backbone", "tfidf"], "tfidf: expected a backbone of images"),
        (["--backbone", "efficientnet"], "unknown backbone 'efficientnet'; did you mean 'efficientnet-lite0'?"),
        (["--backbone", "minilm"], "the backbone 'minilm' takes texts"),
        (["--set", "backbone.size"], "--set backbone.size: expected name=value"),
        (["--set", "backbone.sice=3"], "has no option 'sice'; did you mean 'size'?"),
        (
            ["--unfreeze", "--set", "augment=flip"],
            "augment: expected one of 'none', 'pad-crop', 'resized-crop' or none, got 'flip'",
        ),
    ],
)
def test_wrong_options_of_a_backbone_are_named(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["train", str(images), "--out", str(tmp_path / "m"), *FAST, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "f.csv"], "--output f.csv: expected a file that ends in .npz"),
        (["--output", "no/such/f.npz"], "there is no folder no/such"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_at_once(
    images: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["embed", str(images), *arguments]) == 2
    assert message in capsys.readouterr().err
