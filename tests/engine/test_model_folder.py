import json
from pathlib import Path

import pytest
import safetensors.torch
import torch
from lightning_fabric import Fabric

from answer_rows import stored_rows
from colours import TREE, colour_images
from folders import resealed, unsealed
from hiercos.data import UnlabelledInputs
from hiercos.data.text_features import TextFeatures
from hiercos.engine import ModelError, StoredModel, frozen_encoder, load_model, save_model
from hiercos.engine.encoders import FrozenEncoder, TfidfEncoder
from hiercos.manifest import ManifestError
from hiercos.methods import Model
from hiercos.nn import Projection, csr_tensor
from hiercos.nn.backbones import load_backbone
from trees import TOY17

TEXTS = [f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in ("car", "cat", "castle", "cloud")]


def stored(folder: Path) -> StoredModel:
    torch.manual_seed(0)
    features = TextFeatures.fit(TEXTS)
    projection = Projection.fit(features.transform(TEXTS), dim=6, seed=0)
    model = Model(TOY17, 6, "hier-cos", {"width": 9, "alpha": 0.5}, projection=projection).eval()
    save_model(folder, StoredModel(model, TfidfEncoder(features)))
    return StoredModel(model, TfidfEncoder(features))


def test_a_model_folder_answers_like_the_model_that_was_saved(tmp_path: Path) -> None:
    before, after = stored(tmp_path / "m"), load_model(tmp_path / "m")
    assert after.kind == "texts"
    assert after.model.taxonomy == TOY17
    assert isinstance(before.encoder, TfidfEncoder)
    assert isinstance(after.encoder, TfidfEncoder)
    first, second = (each.encoder.features.transform(TEXTS) for each in (before, after))
    assert (first != second).nnz == 0
    assert torch.equal(after.model(csr_tensor(second)), before.model(csr_tensor(first)))


def test_a_model_folder_holds_no_pickle(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    names = {file.name for file in (tmp_path / "m").iterdir()}
    assert names == {
        "config.json",
        "manifest.json",
        "taxonomy.json",
        "model.safetensors",
        "projection.safetensors",
        "text_features.json",
        "text_features.safetensors",
    }


@pytest.mark.parametrize("missing", ["config.json", "taxonomy.json", "text_features.json"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    stored(tmp_path / "m")
    (tmp_path / "m" / missing).unlink()
    with pytest.raises(ManifestError, match=f"{missing}: the file is missing, but manifest.json lists it"):
        load_model(tmp_path / "m")
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match=f"m: not a model folder, it has no {missing}"):
        load_model(tmp_path / "m")


def test_the_folder_of_a_comparison_is_named_with_the_places_of_its_models(tmp_path: Path) -> None:
    (tmp_path / "results.csv").touch()
    (tmp_path / "runs").mkdir()
    with pytest.raises(ModelError) as error:
        load_model(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: the folder of a comparison, not of a model; models are in {tmp_path / 'runs'}/METHOD/seed-N, and "
        "hiercos compare --ship MODEL copies the recommended one"
    )


def test_a_model_of_texts_takes_texts_alone(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    assert load_model(tmp_path / "m").kinds == ("texts",)


def test_another_version_is_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match="expected 'hiercos-model' version 1 to 5, got 'hiercos-model' version 99"):
        load_model(tmp_path / "m")


def test_weights_of_another_model_are_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "in_features": 7}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match="the parts of the model do not fit together"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("in_features", "x", "in_features: expected an integer, got 'x'"),
        ("rule", "best", "rule: unknown rule 'best'; there are: "),
        ("temperature", None, "temperature: expected a number, got None"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, key: str, value: object, message: str) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match=message):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_a_damaged_configuration_is_named(tmp_path: Path, text: str) -> None:
    stored(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text(text)
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match=r"config\.json: "):
        load_model(tmp_path / "m")


def test_a_folder_of_the_first_version_still_loads(tmp_path: Path) -> None:
    before = stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    config = json.loads(path.read_text())
    assert config.pop("backbone") is None
    path.write_text(json.dumps({**config, "version": 1}))
    unsealed(tmp_path / "m")
    after = load_model(tmp_path / "m")
    assert after.kind == "texts"
    vectors = torch.randn(5, 6)
    assert torch.equal(after.model(vectors), before.model(vectors))


def frozen(folder: Path, **options: object) -> StoredModel:
    encoder = frozen_encoder("wide-resnet-28", {"width": 1, "size": 8, **options})
    model = StoredModel(Model(TREE, encoder.backbone.num_features, "cross-entropy").eval(), encoder)
    save_model(folder, model)
    return model


@pytest.fixture
def weights(tmp_path: Path) -> str:
    """A file of weights, as users have them."""
    torch.manual_seed(0)
    backbone = load_backbone("wide-resnet-28", pretrained=False, width=1, size=8)
    safetensors.torch.save_file(backbone.state_dict(), tmp_path / "weights.safetensors")
    return str(tmp_path / "weights.safetensors")


def test_weights_from_a_file_of_the_user_travel_with_the_model(tmp_path: Path, weights: str, fabric: Fabric) -> None:
    before = frozen(tmp_path / "m", weights=weights)
    Path(weights).unlink()
    after = load_model(tmp_path / "m")
    assert after.kind == "images"
    expected, found = (
        stored_rows(model, UnlabelledInputs.in_memory(colour_images(9)), fabric) for model in (before, after)
    )
    assert found == expected
    assert {file.name for file in (tmp_path / "m").iterdir()} >= {"backbone.safetensors", "model.safetensors"}


def test_a_backbone_found_by_name_leaves_no_weights_and_must_be_the_same(tmp_path: Path) -> None:
    encoder = frozen_encoder("efficientnet-lite0", {"size": 32})
    save_model(tmp_path / "m", StoredModel(Model(TREE, 1280, "cross-entropy").eval(), encoder))
    assert not (tmp_path / "m" / "backbone.safetensors").exists()
    loaded = load_model(tmp_path / "m").encoder
    assert isinstance(loaded, FrozenEncoder)
    assert loaded.backbone.identity() == encoder.backbone.identity()
    path = tmp_path / "m" / "config.json"
    config = json.loads(path.read_text())
    config["backbone"]["weights"] = "0" * 64
    path.write_text(json.dumps(config))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match="'efficientnet-lite0' found here has other weights than the one"):
        load_model(tmp_path / "m")


def test_damaged_weights_of_a_backbone_are_an_error(tmp_path: Path, weights: str) -> None:
    frozen(tmp_path / "m", weights=weights)
    (tmp_path / "m" / "backbone.safetensors").write_bytes(b"damaged")
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match="the weights of the backbone cannot be read"):
        load_model(tmp_path / "m")


def test_a_folder_without_its_manifest_is_refused(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    unsealed(tmp_path / "m")
    with pytest.raises(ModelError, match=r"not completely written, or changed since: it has no manifest\.json"):
        load_model(tmp_path / "m")


def test_a_model_far_larger_than_its_weights_is_refused_before_it_is_built(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "options": {"width": 10**14}}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match="the configuration asks for 600,000,000,000,000"):
        load_model(tmp_path / "m")


def test_weights_are_read_unchecked_if_asked_for_and_the_rest_never(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    weights, config = tmp_path / "m" / "model.safetensors", tmp_path / "m" / "config.json"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ManifestError, match=r"model\.safetensors: the file was changed after it was written"):
        load_model(tmp_path / "m")
    assert load_model(tmp_path / "m", verify=False).kind == "texts"
    config.write_text(config.read_text() + " ")
    with pytest.raises(ManifestError, match=r"config\.json: the file was changed"):
        load_model(tmp_path / "m", verify=False)


@pytest.mark.parametrize("value", [0, -1.5, True, "1", 1e-320, 1e300])
def test_a_temperature_out_of_range_is_refused(tmp_path: Path, value: object) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "temperature": value}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match="temperature: expected a number"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("change", [{"version": True}, {"version": 5.0}, {"class_weights": [True] * 17}])
def test_a_truth_value_is_no_number_of_a_configuration(tmp_path: Path, change: dict[str, object]) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match=rf"config\.json: .*{next(iter(change))}"):
        load_model(tmp_path / "m")


def test_an_unknown_backbone_is_named_with_its_folder(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    backbone = {"name": "/etc", "options": {}, "fine_tuned": False, "in_folder": True}
    path.write_text(json.dumps({**json.loads(path.read_text()), "backbone": backbone}))
    resealed(tmp_path / "m")
    with pytest.raises(ModelError, match=r"m: unknown backbone '/etc'"):
        load_model(tmp_path / "m")
