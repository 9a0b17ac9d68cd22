import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from hiercos import HierCOSHead, Taxonomy
from hiercos.encoders.backbones import load_backbone

TREES = {
    "fgvc_aircraft": (30, 70, 100),
    "cifar100": (2, 4, 8, 20, 100),
    "inaturalist19": (3, 4, 9, 34, 57, 72, 1010),
    "tiered_imagenet_h": (2, 5, 21, 24, 65, 108, 146, 213, 127, 93, 36, 2),
}


def tree_with_levels(sizes: tuple[int, ...]) -> Taxonomy:
    """A tree with as many nodes on each level as asked for."""
    edges = [
        (f"{level} {child * above // count}", f"{level + 1} {child}")
        for level, (above, count) in enumerate(pairwise(sizes))
        for child in range(count)
    ]
    return Taxonomy.from_edges(edges)


@pytest.mark.parametrize(
    ("dataset", "features", "published"),
    [
        ("fgvc_aircraft", 2048, 572_400),
        ("cifar100", 512, 142_308),
        ("inaturalist19", 2048, 8_106_602),
        ("tiered_imagenet_h", 2048, 4_572_060),
    ],
)
def test_stem_and_head_have_the_published_number_of_parameters(dataset: str, features: int, published: int) -> None:
    tree = tree_with_levels(TREES[dataset])
    name, options = ("wide-resnet-28", {"width": 8}) if features == 512 else ("resnet-50", {})
    with torch.device("meta"):
        backbone = load_backbone(name, pretrained=False, stem=tree.num_nodes, **options)
        head = HierCOSHead(backbone.num_features, tree)
    trainable = backbone.projection.weight.numel() + sum(value.numel() for value in head.parameters())
    n = tree.num_nodes
    assert trainable == published == features * n + 4 * n**2 + 14 * n
    assert backbone.backbone.num_features == features


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
