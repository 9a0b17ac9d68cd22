from pathlib import Path

import pytest
import safetensors.torch
import torch
from lightning_fabric import Fabric

from answer_rows import stored_rows
from colours import TREE, colour_images
from folders import resealed, with_tensors
from hiercos.data import Source
from hiercos.encoders import frozen_encoder
from hiercos.encoders.backbones import load_backbone
from hiercos.encoders.encoder import FrozenEncoder, TfidfEncoder
from hiercos.encoders.tfidf import TextFeatures
from hiercos.methods import Model, Projection, csr_tensor
from hiercos.model import Classifier, ModelError
from hiercos.storage import StorageError, opened
from trees import TOY17

TEXTS = [f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in ("car", "cat", "castle", "cloud")]


def stored(folder: Path) -> Classifier:
    torch.manual_seed(0)
    features = TextFeatures.fit(TEXTS)
    projection = Projection.fit(features.transform(TEXTS), dim=6, seed=0)
    model = Model(TOY17, 6, "hier-cos", {"width": 9, "alpha": 0.5}, projection=projection).eval()
    Classifier(model, TfidfEncoder(features)).save(folder)
    return Classifier(model, TfidfEncoder(features))


def test_a_model_folder_answers_like_the_model_that_was_saved(tmp_path: Path) -> None:
    before, after = stored(tmp_path / "m"), Classifier.load(tmp_path / "m")
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
    assert names == {"config.json", "taxonomy.json", "model.safetensors", "vocabulary.json"}


@pytest.mark.parametrize("missing", ["taxonomy.json", "vocabulary.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    stored(tmp_path / "m")
    (tmp_path / "m" / missing).unlink()
    with pytest.raises(StorageError, match=f"{missing}: the file is missing, but config.json lists it"):
        Classifier.load(tmp_path / "m")


def test_a_folder_without_its_configuration_is_no_model(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    (tmp_path / "m" / "config.json").unlink()
    with pytest.raises(ModelError, match=r"m: not a model folder, it has no config\.json"):
        Classifier.load(tmp_path / "m")
    (tmp_path / "m" / "checkpoint").touch()
    with pytest.raises(ModelError, match="m: an unfinished run; finish it with --resume"):
        Classifier.load(tmp_path / "m")


def test_the_folder_of_a_comparison_is_named_with_the_places_of_its_models(tmp_path: Path) -> None:
    (tmp_path / "results.csv").touch()
    (tmp_path / "runs").mkdir()
    with pytest.raises(ModelError) as error:
        Classifier.load(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: the folder of a comparison, not of a model; models are in {tmp_path / 'runs'}/METHOD/seed-N, and "
        "hiercos compare --ship MODEL copies the recommended one"
    )


def test_a_model_of_texts_takes_texts_alone(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    assert Classifier.load(tmp_path / "m").kinds == ("texts",)


def test_another_format_is_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    resealed(tmp_path / "m", format=99)
    with pytest.raises(ModelError, match="expected the format 1 of a model, got 99"):
        Classifier.load(tmp_path / "m")


def test_weights_of_another_model_are_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    resealed(tmp_path / "m", in_features=7)
    with pytest.raises(ModelError, match="the parts of the model do not fit together"):
        Classifier.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("in_features", "x", "in_features: expected an integer, got 'x'"),
        ("rule", {"name": "best"}, "rule: unknown rule 'best'; there are: "),
        ("temperature", None, "temperature: expected a number, got None"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, key: str, value: object, message: str) -> None:
    stored(tmp_path / "m")
    resealed(tmp_path / "m", **{key: value})
    with pytest.raises(ModelError, match=message):
        Classifier.load(tmp_path / "m")


def frozen(folder: Path, **options: object) -> Classifier:
    encoder = frozen_encoder("wide-resnet-28", {"width": 1, "size": 8, **options})
    model = Classifier(Model(TREE, encoder.backbone.num_features, "cross-entropy").eval(), encoder)
    model.save(folder)
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
    after = Classifier.load(tmp_path / "m")
    assert after.kind == "images"
    expected, found = (stored_rows(model, Source.of(colour_images(9)), fabric) for model in (before, after))
    assert found == expected
    assert {file.name for file in (tmp_path / "m").iterdir()} == {"config.json", "taxonomy.json", "model.safetensors"}


def test_a_backbone_found_by_name_leaves_no_weights_and_must_be_the_same(tmp_path: Path) -> None:
    encoder = frozen_encoder("efficientnet-lite0", {"size": 32})
    Classifier(Model(TREE, 1280, "cross-entropy").eval(), encoder).save(tmp_path / "m")
    assert (tmp_path / "m" / "model.safetensors").stat().st_size < 200_000
    loaded = Classifier.load(tmp_path / "m").encoder
    assert isinstance(loaded, FrozenEncoder)
    assert loaded.backbone.identity() == encoder.backbone.identity()
    resealed(tmp_path / "m", backbone={**opened(tmp_path / "m").config["backbone"], "weights": "0" * 64})
    with pytest.raises(ModelError, match="'efficientnet-lite0' found here has other weights than the one"):
        Classifier.load(tmp_path / "m")


def test_damaged_weights_of_a_backbone_are_an_error(tmp_path: Path, weights: str) -> None:
    frozen(tmp_path / "m", weights=weights)
    with_tensors(tmp_path / "m", backbone__another=torch.ones(3))
    with pytest.raises(ModelError, match="the weights of the backbone cannot be read"):
        Classifier.load(tmp_path / "m")


def test_a_model_far_larger_than_its_weights_is_refused_before_it_is_built(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    resealed(tmp_path / "m", options={"width": 10**14})
    with pytest.raises(ModelError, match="the configuration asks for 600,000,000,000,000"):
        Classifier.load(tmp_path / "m")


@pytest.mark.parametrize("value", [0, -1.5, True, "1", 1e-320, 1e300])
def test_a_temperature_out_of_range_is_refused(tmp_path: Path, value: object) -> None:
    stored(tmp_path / "m")
    resealed(tmp_path / "m", temperature=value)
    with pytest.raises(ModelError, match="temperature: expected a number"):
        Classifier.load(tmp_path / "m")


@pytest.mark.parametrize("change", [{"format": True}, {"format": 1.0}, {"class_weights": [True] * 17}])
def test_a_truth_value_is_no_number_of_a_configuration(tmp_path: Path, change: dict[str, object]) -> None:
    stored(tmp_path / "m")
    resealed(tmp_path / "m", **change)
    with pytest.raises(ModelError, match=rf"config\.json: .*{next(iter(change))}"):
        Classifier.load(tmp_path / "m")


def test_an_unknown_backbone_is_named_with_its_folder(tmp_path: Path) -> None:
    stored(tmp_path / "m")
    backbone = {"name": "/etc", "options": {}, "fine_tuned": False, "in_folder": True}
    resealed(tmp_path / "m", backbone=backbone)
    with pytest.raises(ModelError, match=r"m: unknown backbone '/etc'"):
        Classifier.load(tmp_path / "m")
