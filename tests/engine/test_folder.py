import json
from pathlib import Path

import pytest
import torch

from hiercos.data.features import TextFeatures
from hiercos.engine import Model, ModelError, StoredModel, load_model, save_model
from hiercos.engine.readers import TfidfReader
from trees import TOY17

TEXTS = [f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in ("car", "cat", "castle", "cloud")]


def stored(folder: Path) -> StoredModel:
    torch.manual_seed(0)
    features = TextFeatures.fit(TEXTS, dim=6, seed=0)
    model = StoredModel(Model(TOY17, 6, "hier-cos", {"width": 9, "alpha": 0.5}).eval(), TfidfReader(features))
    save_model(folder, model)
    return model


def test_a_model_folder_answers_like_the_model_that_was_saved(tmp_path: Path) -> None:
    before, after = stored(tmp_path / "m"), load_model(tmp_path / "m")
    assert after.kind == "texts"
    assert after.model.taxonomy == TOY17
    assert isinstance(before.reader, TfidfReader)
    assert isinstance(after.reader, TfidfReader)
    vectors = torch.tensor(before.reader.features.transform(TEXTS))
    assert torch.equal(torch.tensor(after.reader.features.transform(TEXTS)), vectors)
    assert torch.equal(after.model(vectors), before.model(vectors))


def test_a_model_folder_holds_no_pickle(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    names = {file.name for file in (tmp_path / "m").iterdir()}
    assert names == {
        "config.json",
        "taxonomy.json",
        "model.safetensors",
        "text_features.json",
        "text_features.safetensors",
    }


@pytest.mark.parametrize("missing", ["config.json", "taxonomy.json", "text_features.json"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    stored(tmp_path / "m")
    (tmp_path / "m" / missing).unlink()
    with pytest.raises(ModelError, match=f"m: not a model folder, it has no {missing}"):
        load_model(tmp_path / "m")


def test_another_version_is_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    with pytest.raises(ModelError, match="expected 'hiercos-model' version 1 to 2, got 'hiercos-model' version 99"):
        load_model(tmp_path / "m")


def test_weights_of_another_model_are_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "in_features": 7}))
    with pytest.raises(ModelError, match="the parts of the model do not fit together"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("in_features", "x", "in_features: expected a whole number, got 'x'"),
        ("rule", "best", "rule: expected one of none, crm, hops, got 'best'"),
        ("temperature", None, "temperature: expected a number, got None"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, key: str, value: object, message: str) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(ModelError, match=message):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_a_damaged_configuration_is_named(tmp_path: Path, text: str) -> None:
    stored(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json: "):
        load_model(tmp_path / "m")
