import pytest
import torch
from torch import nn

from hiercos.encoders.backbones import BackboneError, load_backbone
from hiercos.methods import Backbone


@pytest.fixture(scope="module")
def resnet() -> Backbone:
    torch.manual_seed(0)
    return load_backbone("resnet-50", pretrained=False).eval()


def names_of_torchvision() -> list[str]:
    """The tensors of torchvision's and timm's ResNet-50 but for its classifier, written out from its description."""
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    names = ["conv1.weight", *(f"bn1.{part}" for part in norm)]
    for stage, blocks in enumerate((3, 4, 6, 3), start=1):
        for block in range(blocks):
            at = f"layer{stage}.{block}"
            for number in (1, 2, 3):
                names += [f"{at}.conv{number}.weight", *(f"{at}.bn{number}.{part}" for part in norm)]
            if block == 0:
                names += [f"{at}.downsample.0.weight", *(f"{at}.downsample.1.{part}" for part in norm)]
    return names


def test_tensors_have_the_names_of_torchvision(resnet: Backbone) -> None:
    assert sorted(resnet.state_dict()) == sorted(names_of_torchvision())


def test_the_stride_is_in_the_3x3_convolutions(resnet: Backbone) -> None:
    strided = {
        name for name, layer in resnet.named_modules() if isinstance(layer, nn.Conv2d) and layer.stride == (2, 2)
    }
    blocks = {f"layer{stage}.0.{part}" for stage in (2, 3, 4) for part in ("conv2", "downsample.0")}
    assert strided == {"conv1"} | blocks


def test_the_features_are_the_mean_of_a_map_of_a_32nd_of_the_side(resnet: Backbone) -> None:
    batch = torch.randn(1, 3, 96, 64)
    with torch.no_grad():
        last = resnet.feature_map(batch)
        assert last.shape == (1, 2048, 3, 2)
        torch.testing.assert_close(resnet(batch), last.mean((2, 3)))


def test_the_features_can_be_the_maximum_of_the_map_unless_a_stem_takes_their_mean(resnet: Backbone) -> None:
    pooled = load_backbone("resnet-50", pretrained=False, pool="max").eval()
    pooled.load_state_dict(resnet.state_dict())
    batch = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(pooled(batch), resnet.feature_map(batch).amax((2, 3)))
    with pytest.raises(BackboneError, match="expected pool 'mean' with a stem, got 'max'"):
        load_backbone("resnet-50", pretrained=False, pool="max", stem=5)


def test_images_are_squashed_to_224_pixels_with_the_statistics_of_imagenet(resnet: Backbone) -> None:
    assert resnet.preprocess.to_dict() == {
        "size": 224,
        "mean": [0.485, 0.456, 0.406],
        "std": [0.229, 0.224, 0.225],
        "fit": "squash",
        "crop_share": 1.0,
        "interpolation": "bilinear",
    }
