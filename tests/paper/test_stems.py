import math

import pytest
import torch
from torch import nn

from hiercos.encoders.backbones import load_backbone


@pytest.mark.parametrize(("name", "options"), [("resnet-50", {}), ("wide-resnet-28", {"width": 1})])
def test_a_stem_is_a_1x1_convolution_and_average_pooling(name: str, options: dict[str, int]) -> None:
    torch.manual_seed(0)
    backbone = load_backbone(name, pretrained=False, stem=5, **options).eval()
    convolution = nn.Conv2d(backbone.backbone.num_features, 5, 1, bias=False)
    batch = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        convolution.weight.copy_(backbone.projection.weight[:, :, None, None])
        published = nn.functional.adaptive_avg_pool2d(convolution(backbone.backbone.feature_map(batch)), 1).flatten(1)
        torch.testing.assert_close(backbone(batch), published, atol=1e-5, rtol=1e-4)


def test_the_stem_of_wide_resnet_is_drawn_like_its_convolutions_and_that_of_resnet_uniformly() -> None:
    torch.manual_seed(0)
    wide = load_backbone("wide-resnet-28", pretrained=False, width=1, stem=400).projection.weight
    assert wide.std().item() == pytest.approx(math.sqrt(2 / 400), rel=0.02)
    plain = load_backbone("resnet-50", pretrained=False, stem=30).projection.weight
    assert plain.abs().max().item() == pytest.approx(1 / math.sqrt(2048), rel=0.01)


def test_a_stem_keeps_what_the_backbone_is() -> None:
    backbone = load_backbone("wide-resnet-28", pretrained=False, width=1, stem=7)
    assert (backbone.name, backbone.kind, backbone.num_features) == ("wide-resnet-28", "images", 7)
    assert backbone.options == {"width": 1, "stem": 7}
    assert backbone.preprocess.to_dict()["size"] == 32
