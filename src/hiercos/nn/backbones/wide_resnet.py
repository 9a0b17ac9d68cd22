"""WideResNet-28, which published runs train from scratch on CIFAR-100."""

import math

from torch import Tensor, nn

from hiercos.nn.backbones.backbone import Backbone
from hiercos.nn.backbones.preprocessing import CIFAR_MEAN, CIFAR_STD, Channels, ImageTransform
from hiercos.nn.backbones.registry import BACKBONES
from hiercos.nn.backbones.stems import StemBackbone
from hiercos.nn.backbones.weights import check_source, load_weights

BLOCKS = 4  # in each of the three stages: 3 * 4 blocks of 2 convolutions, 3 shortcuts and the first make 28 layers
SLOPE = 0.1  # of the leaky ReLU


@BACKBONES.register("wide-resnet-28", trained=False)
def wide_resnet_28(
    *,
    pretrained: bool = True,
    weights: str | None = None,
    width: int = 8,
    stem: int | None = None,
    momentum: float = 0.1,
    size: int = 32,
    mean: Channels = CIFAR_MEAN,
    std: Channels = CIFAR_STD,
) -> Backbone:
    """WideResNet-28 for small images: 64 · width features; trained from scratch, so it comes without weights.

    Args:
        pretrained: with the weights of the file; False starts from random ones.
        weights: a .safetensors file.
        width: the factor k of WRN-28-k; 8 as published.
        stem: the width of a published stem to project the features to; none by default.
        momentum: of the batch norms; 0.001 as published needs thousands of steps before evaluation means anything.
        size: side of the images in pixels.
        mean: of red, green and blue, from 0 to 1.
        std: of the same.
    """
    check_source("wide-resnet-28", weights, pretrained=pretrained)
    backbone = WideResNet28(ImageTransform(size, mean, std), width=width, momentum=momentum)
    if weights is not None:
        load_weights(backbone, weights, classifier="fc")
    return backbone if stem is None else StemBackbone(backbone, stem, normal=True)


class WideBlock(nn.Module):
    """Norm, activation, convolution, twice; then the input is added.

    Where the shape changes, the shortcut is a 1x1 convolution of the activated input.

    Shape:
        x: (B, in_channels, H, W). Output: (B, out_channels, H / stride, W / stride).
    """

    def __init__(self, in_channels: int, out_channels: int, *, stride: int, momentum: float) -> None:
        super().__init__()
        self.activate = nn.Sequential(nn.BatchNorm2d(in_channels, momentum=momentum), nn.LeakyReLU(SLOPE, inplace=True))
        self.body = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(out_channels, momentum=momentum),
            nn.LeakyReLU(SLOPE, inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
        )
        same = in_channels == out_channels and stride == 1
        self.shortcut = None if same else nn.Conv2d(in_channels, out_channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, in_channels, H, W) to (B, out_channels, H / stride, W / stride)."""
        active = self.activate(x)
        out: Tensor = self.body(active) + (x if self.shortcut is None else self.shortcut(active))
        return out


class WideResNet28(Backbone):
    """WRN-28-k [zagoruyko2016] with leaky ReLU, as the runs of the published tables have it.

    Note:
        The weights of every k x k convolution are drawn from N(0, 2 / (k² out_channels)).

    Shape:
        batch: (B, 3, S, S). Output: (B, 64 · width), each channel's mean over the last map of S / 4 x S / 4.
    """

    def __init__(self, preprocess: ImageTransform, *, width: int, momentum: float) -> None:
        if width < 1:
            raise ValueError(f"expected a width of at least 1, got {width}")
        super().__init__("images", 64 * width, preprocess)
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        stages: list[nn.Module] = []
        channels = 16
        for out_channels, first_stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
            for stride in (first_stride, *[1] * (BLOCKS - 1)):
                stages.append(WideBlock(channels, out_channels, stride=stride, momentum=momentum))
                channels = out_channels
        self.blocks = nn.Sequential(*stages)
        self.activate = nn.Sequential(nn.BatchNorm2d(channels, momentum=momentum), nn.LeakyReLU(SLOPE, inplace=True))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                area = layer.kernel_size[0] * layer.kernel_size[1]
                nn.init.normal_(layer.weight, std=math.sqrt(2 / (area * layer.out_channels)))

    def feature_map(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, 64 · width, S / 4, S / 4)."""
        out: Tensor = self.activate(self.blocks(self.conv(batch)))
        return out

    def forward(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, 64 · width)."""
        return self.feature_map(batch).mean((2, 3))
