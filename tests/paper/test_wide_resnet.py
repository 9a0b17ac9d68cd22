import math

import pytest
import torch
from torch import nn

from hiercos.encoders.backbones import ImageTransform, load_backbone
from hiercos.paper.resnet import WideBlock, WideResNet28


def parameters(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


def test_the_published_width_has_the_published_number_of_parameters() -> None:
    backbone = load_backbone("wide-resnet-28", pretrained=False)
    assert parameters(backbone) == 23_349_712
    assert backbone.num_features == 512


@pytest.mark.parametrize("depth", [4, 18])
def test_a_depth_without_whole_blocks_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=f"expected a depth of 10, 16, 22, 28 or 6 more each, got {depth}"):
        load_backbone("wide-resnet-28", pretrained=False, depth=depth)


def test_a_small_image_ends_in_a_map_of_a_quarter_of_its_side() -> None:
    backbone = WideResNet28(ImageTransform(32), width=1, momentum=0.1).eval()
    batch = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        last = backbone.feature_map(batch)
        assert last.shape == (2, 64, 8, 8)
        torch.testing.assert_close(backbone(batch), last.mean((2, 3)))


def test_batch_norms_take_the_momentum_and_activations_the_slope() -> None:
    backbone = load_backbone("wide-resnet-28", pretrained=False, width=1, momentum=0.001)
    assert {layer.momentum for layer in backbone.modules() if isinstance(layer, nn.BatchNorm2d)} == {0.001}
    assert {layer.negative_slope for layer in backbone.modules() if isinstance(layer, nn.LeakyReLU)} == {0.1}


@pytest.mark.parametrize("kernel", [1, 3])
def test_convolutions_start_with_the_published_spread(kernel: int) -> None:
    torch.manual_seed(0)
    backbone = WideResNet28(ImageTransform(32), width=4, momentum=0.1)
    largest = max(
        (layer for layer in backbone.modules() if isinstance(layer, nn.Conv2d) and layer.kernel_size[0] == kernel),
        key=lambda layer: layer.weight.numel(),
    )
    assert largest.weight.std().item() == pytest.approx(math.sqrt(2 / (kernel**2 * largest.out_channels)), rel=0.02)
    assert abs(largest.weight.mean().item()) < 1e-3


def test_a_shortcut_sees_the_activated_input() -> None:
    block = WideBlock(1, 2, stride=2, momentum=0.1).eval()
    nn.init.zeros_(block.body[-1].weight)
    nn.init.ones_(block.shortcut.weight)
    x = torch.tensor([[[[-10.0, 1.0], [1.0, 1.0]]]])
    torch.testing.assert_close(block(x), torch.full((1, 2, 1, 1), -1.0), atol=1e-4, rtol=0)  # 0.1 · -10
