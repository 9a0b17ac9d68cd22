"""ResNet-50 and WideResNet-28, the convolutional backbones of the published tables."""

import math
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.encoders.backbones import (
    CIFAR_MEAN,
    CIFAR_STD,
    IMAGENET_MEAN,
    IMAGENET_STD,
    Backbone,
    Channels,
    ImageTransform,
    check_weights_source,
    load_weights,
)

EXPANSION = 4  # ratio of a block's output width to its inner width
Pool = Literal["mean", "max"]
STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # inner width, blocks


def resnet_50(
    *,
    pretrained: bool = True,
    weights: str | None = None,
    stem: int | None = None,
    pool: Pool = "mean",
    size: int = 224,
    mean: Channels = IMAGENET_MEAN,
    std: Channels = IMAGENET_STD,
) -> Backbone:
    """ResNet-50 with the tensor names of torchvision and timm; loads their weights from a .safetensors file.

    Args:
        pretrained: whether to load the weights of the file (default); False starts from random ones.
        weights: .safetensors file; None by default.
        stem: width of the published stem that projects the features; None (default) for no stem.
        pool: pooling of each channel's map: "mean" (default), or "max", as published for the heads without a
            transformation module.
    """
    if stem is not None and pool != "mean":
        raise ValueError(f"expected pool 'mean' with a stem, got {pool!r}")
    check_weights_source("resnet-50", weights, pretrained=pretrained)
    backbone = ResNet50(ImageTransform(size, mean, std, interpolation="bilinear"), pool=pool)
    if weights is not None:
        load_weights(backbone, weights, classifier="fc")
    return backbone if stem is None else StemBackbone(backbone, stem)


class Bottleneck(nn.Module):
    """Bottleneck block: reduce, filter, expand, and add the input. The stride is in the 3x3 convolution ("V1.5").

    Shape:
        x: (B, in_channels, H, W). Output: (B, 4 · inner, H / stride, W / stride).
    """

    def __init__(self, in_channels: int, inner: int, stride: int) -> None:
        super().__init__()
        out_channels = EXPANSION * inner
        self.conv1 = nn.Conv2d(in_channels, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = nn.Conv2d(inner, out_channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.downsample = (
            nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, stride, bias=False), nn.BatchNorm2d(out_channels))
            if stride > 1 or in_channels != out_channels
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, in_channels, H, W) to (B, 4 · inner, H / stride, W / stride)."""
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = F.relu(self.bn2(self.conv2(out)), inplace=True)
        out = self.bn3(self.conv3(out))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)), inplace=True)


class ResNet50(Backbone):
    """ResNet-50 [he2016].

    Note:
        Random weights of convolutions follow He's initialisation, with variance 2 / (k² out_channels).

    Shape:
        batch: (B, 3, S, S). Output: (B, 2048), each channel's mean (or maximum) over the last map of S / 32 x S / 32.
    """

    def __init__(self, preprocess: ImageTransform, *, pool: Pool = "mean") -> None:
        super().__init__("images", EXPANSION * STAGES[-1][0], preprocess)
        self.pool = pool
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1, self.layer2, self.layer3, self.layer4 = _stages()
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def feature_map(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, 2048, S / 32, S / 32)."""
        out = F.relu(self.bn1(self.conv1(batch)), inplace=True)  # (B, 64, S / 2, S / 2)
        out = F.max_pool2d(out, 3, stride=2, padding=1)  # (B, 64, S / 4, S / 4)
        last: Tensor = self.layer4(self.layer3(self.layer2(self.layer1(out))))  # (B, 2048, S / 32, S / 32)
        return last

    def forward(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, 2048)."""
        features = self.feature_map(batch)  # (B, 2048, S / 32, S / 32)
        return features.mean((2, 3)) if self.pool == "mean" else features.amax((2, 3))


def _stages() -> list[nn.Sequential]:
    """The four stages of blocks; all but the first halve the map."""
    stages = []
    channels = 64
    for stage, (inner, count) in enumerate(STAGES):
        first = Bottleneck(channels, inner, stride=1 if stage == 0 else 2)
        channels = EXPANSION * inner
        stages.append(nn.Sequential(first, *(Bottleneck(channels, inner, stride=1) for _ in range(count - 1))))
    return stages


SLOPE = 0.1  # slope of the leaky ReLU


def wide_resnet_28(
    *,
    pretrained: bool = True,
    weights: str | None = None,
    width: int = 8,
    depth: int = 28,
    stem: int | None = None,
    momentum: float = 0.1,
    size: int = 32,
    mean: Channels = CIFAR_MEAN,
    std: Channels = CIFAR_STD,
) -> Backbone:
    """WideResNet-28 for small images: 64 · width features; trained from scratch, so it comes without weights.

    Args:
        pretrained: whether to load the weights of the file (default); False starts from random ones.
        weights: .safetensors file; None by default.
        width: factor k of WRN-28-k; 8, as published, by default.
        depth: number of layers, 6 for each block of the three stages and 4 more; 28, as published, by default.
        stem: width of the published stem that projects the features; None (default) for no stem.
        momentum: momentum of the batch norms; 0.1 by default, since the published 0.001 needs thousands of steps before
            the running statistics are usable.
    """
    check_weights_source("wide-resnet-28", weights, pretrained=pretrained)
    backbone = WideResNet28(ImageTransform(size, mean, std), width=width, depth=depth, momentum=momentum)
    if weights is not None:
        load_weights(backbone, weights, classifier="fc")
    return backbone if stem is None else StemBackbone(backbone, stem, normal=True)


class WideBlock(nn.Module):
    """Pre-activation block: norm, activation, convolution, twice; then the input is added.

    If the shape changes, the shortcut is a 1x1 convolution of the activated input.

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
    """WRN-28-k [zagoruyko2016] with leaky ReLU, as in the published runs.

    Note:
        The weights of every k x k convolution are drawn from N(0, 2 / (k² out_channels)).

    Shape:
        batch: (B, 3, S, S). Output: (B, 64 · width), each channel's mean over the last map of S / 4 x S / 4.
    """

    def __init__(self, preprocess: ImageTransform, *, width: int, momentum: float, depth: int = 28) -> None:
        if width < 1:
            raise ValueError(f"expected a width of at least 1, got {width}")
        if depth < 10 or depth % 6 != 4:
            raise ValueError(f"expected a depth of 10, 16, 22, 28 or 6 more each, got {depth}")
        super().__init__("images", 64 * width, preprocess)
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        stages: list[nn.Module] = []
        channels = 16
        for out_channels, first_stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
            for stride in (first_stride, *[1] * ((depth - 4) // 6 - 1)):
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


class StemBackbone(Backbone):
    """A backbone followed by a linear projection, which trains at the backbone's learning rate.

    The published stem is a 1x1 convolution without bias, average pooling and batch norm. Pooling and a 1x1
    convolution commute, so the convolution is a linear map of the pooled features here: the same result
    at a fraction of the cost. The batch norm is the first layer of `TransformationModule`.

    Args:
        backbone: backbone with F features, each the mean of a feature map.
        width: width of the projection; as published, N for Hier-COS and C for the other methods.
        normal: whether to draw the projection from N(0, 2 / width), as published with WideResNet; by default it is
            uniform within 1 / sqrt(F), as published with ResNet-50.

    Shape:
        batch: input of the backbone. Output: (B, width).
    """

    def __init__(self, backbone: Backbone, width: int, *, normal: bool = False) -> None:
        if width < 1:
            raise ValueError(f"expected a stem of at least 1 feature, got {width}")
        super().__init__(backbone.kind, width, backbone.preprocess)
        self.backbone = backbone
        self.projection = nn.Linear(backbone.num_features, width, bias=False)
        if normal:
            nn.init.normal_(self.projection.weight, std=math.sqrt(2 / width))

    def forward(self, batch: Any) -> Tensor:
        """A preprocessed batch to projected features, shape (B, width)."""
        features: Tensor = self.projection(self.backbone(batch))
        return features
