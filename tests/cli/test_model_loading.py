"""A model is measured on what it did not learn from."""

from pathlib import Path

import pytest

from blobs import written_cloud
from hiercos.cli.app import run
from hiercos.hub import PretrainedModel
from trees import TOY17


def trained(folder: Path, rule: str = "none") -> tuple[str, str]:
    """Data of vectors and a model trained on them, in a folder."""
    data, model = written_cloud(folder, TOY17, 340), str(folder / "model")
    settings = ["--method", "cross-entropy", "--rule", rule, "--epochs", "1", "--device", "cpu"]
    assert run(["train", *data, *settings, "--out", model]) == 0
    return data[0], model


@pytest.mark.parametrize("rule", ["none", "crm"])
def test_a_saved_model_is_measured_on_the_test_rows_of_what_it_was_trained_on(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = trained(tmp_path, rule)
    PretrainedModel.from_pretrained(model).save_pretrained(tmp_path / "saved")
    said = []
    for folder in (model, str(tmp_path / "saved")):
        capsys.readouterr()
        assert run(["evaluate", folder, data, "--device", "cpu"]) == 0
        said.append(capsys.readouterr())
    assert "data.npz is what the model was trained on: only its" in said[0].err
    assert said[0] == said[1]


def test_data_of_another_kind_than_the_model_takes_are_one_sentence_without_their_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, model = trained(tmp_path)
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\nmiaow,cow\nwoof,bat\n", encoding="utf-8")
    capsys.readouterr()
    assert run(["evaluate", model, str(texts), "--device", "cpu"]) == 2
    expected = f"expected an .npz of vectors because this model takes vectors, got {texts} with texts"
    assert capsys.readouterr().err == f"error: {expected}\n"
