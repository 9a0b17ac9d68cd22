"""timm imports torchvision: where either is missing, only what needs neither of them is tested."""

from typing import Any

import pytest
import torch

from encoders.backbones.photos import noise
from hiercos.encoders.backbones import BackboneError, ImageTransform, load_backbone
from hiercos.encoders.backbones.timm_models import timm_transform

GREY = (0.5, 0.5, 0.5)
SETTINGS = {
    "input_size": (3, 224, 224),
    "interpolation": "bicubic",
    "mean": GREY,
    "std": GREY,
    "crop_pct": 0.95,
    "crop_mode": "center",
}


@pytest.fixture
def timm() -> Any:
    return pytest.importorskip("timm", reason="timm, or torchvision, which it imports, is not installed")


@pytest.mark.parametrize(
    ("changes", "fit", "share"),
    [
        ({}, "crop", 0.95),
        ({"crop_mode": "squash", "crop_pct": 1.0}, "squash", 1.0),
        ({"crop_mode": "squash"}, "squash", 0.95),
    ],
)
def test_the_data_configuration_becomes_a_transform(changes: dict[str, Any], fit: Any, share: float) -> None:
    transform = timm_transform({**SETTINGS, **changes}, backbone="timm:x")
    assert transform == ImageTransform(224, GREY, GREY, fit, share, "bicubic")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"input_size": (1, 224, 224)}, r"expected square images of 3 channels, got \(1, 224, 224\)"),
        ({"input_size": (3, 224, 192)}, r"expected square images of 3 channels, got \(3, 224, 192\)"),
        ({"crop_mode": "border"}, "expected crop_mode center or squash, got 'border'"),
    ],
)
def test_what_it_cannot_do_is_said(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(BackboneError, match=f"^backbone 'timm:x': {fault}$"):
        timm_transform({**SETTINGS, **changes}, backbone="timm:x")


@pytest.mark.parametrize("model", ["resnet18", "vit_tiny_patch16_224", "mobilenetv3_small_050"])
def test_features_are_those_of_the_model_without_its_classifier(model: str, timm: Any) -> None:
    torch.manual_seed(0)
    backbone = load_backbone(f"timm:{model}", pretrained=False).eval()
    direct = timm.create_model(model, num_classes=0).eval()
    direct.load_state_dict(backbone.model.state_dict())
    batch = backbone.preprocess([noise(300, 200), noise(100, 230)])
    with torch.no_grad():
        features = backbone(batch)
        assert torch.equal(features, direct(batch))
    assert features.shape == (2, backbone.num_features)


def test_the_transform_is_close_to_timms_own(timm: Any) -> None:
    backbone = load_backbone("timm:resnet18", pretrained=False)
    theirs = timm.data.create_transform(**timm.data.resolve_model_data_config(backbone.model), is_training=False)
    image = noise(6, 6).resize((300, 200), resample=3)
    assert (backbone.preprocess([image])[0] - theirs(image)).abs().mean() < 0.02


@pytest.mark.usefixtures("timm")
def test_an_unknown_model_is_one_sentence() -> None:
    with pytest.raises(BackboneError, match=r"^backbone 'timm:no_such_model': timm cannot load it: .*no_such_model"):
        load_backbone("timm:no_such_model", pretrained=False)
