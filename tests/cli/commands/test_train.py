"""`hiercos train` is a door to the one trainer."""

from pathlib import Path

import pytest

from blobs import cloud, written_cloud
from hiercos import HierarchicalClassifier
from hiercos.cli.app import run
from hiercos.model import Classifier
from hiercos.records import Record
from hiercos.training import INPUTS
from trees import TOY, TOY17


@pytest.mark.parametrize(
    ("words", "parameters"),
    [
        (["--effort", "quick"], {"effort": "quick"}),
        (
            ["--method", "hier-cos", "--set", "patience=1", "--rule", "hf-beta:beta=0.5"],
            {"method": "hier-cos", "options": {"patience": 1}, "rule": "hf-beta:beta=0.5"},
        ),
    ],
)
def test_the_command_and_the_estimator_train_the_same_model(
    tmp_path: Path, words: list[str], parameters: dict[str, object]
) -> None:
    features, labels = cloud(TOY17, 510)
    data = [*written_cloud(tmp_path, TOY17, 510), "--no-test", "--device", "cpu"]
    assert run(["train", *data, *words, "--out", str(tmp_path / "command")]) == 0
    estimator = HierarchicalClassifier(TOY17, **parameters).fit(features.numpy(), labels.numpy())
    estimator.save(tmp_path / "estimator")
    trained = Classifier.load(tmp_path / "command")
    assert (tmp_path / "command" / "model.safetensors").read_bytes() == (
        tmp_path / "estimator" / "model.safetensors"
    ).read_bytes()
    assert trained.temperature == estimator.temperature_
    assert trained.rule == estimator.rule_
    assert trained.rule.parameters.get("beta") == (0.5 if "--rule" in words else None)


@pytest.mark.parametrize("words", [[], ["--no-inputs"]])
def test_no_inputs_are_in_the_folder_if_none_are_to_be(tmp_path: Path, words: list[str]) -> None:
    TOY.write(tmp_path / "tree.csv")
    rows = [f"a secret{number} {name},{TOY.class_names[number % 3]}" for number in range(120) for name in "xy"]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    data = [str(tmp_path / "data.csv"), "--taxonomy", str(tmp_path / "tree.csv"), "--method", "tree-logistic"]
    assert run(["train", *data, "--memory", "2", *words, "--out", str(tmp_path / "model")]) == 0
    trained = Classifier.load(tmp_path / "model")
    learned = Record.read(tmp_path / "model", trained.rule.name).learned
    assert learned is not None
    kept = learned["kept"]
    assert kept["n-grams"] > 0
    assert (tmp_path / "model" / INPUTS).exists() == (not words)
    assert (trained.memory is None) == bool(words)
    assert [bool(kept["remembered samples"]), bool(kept["test inputs"])] == [not words] * 2
