"""A small vision transformer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.nn.backbones.backbone import BACKBONES, Backbone
from hiercos.nn.backbones.preprocessing import Channels, ImageTransform
from hiercos.nn.backbones.weights import check_weights_source, load_weights

HALF = (0.5, 0.5, 0.5)  # mean and std for inputs from -1 to 1, as the published weights of this size expect
EPSILON = 1e-6  # epsilon of the layer norms


@BACKBONES.register("vit-small", trained=False)
def vit_small(
    *,
    pretrained: bool = True,
    weights: str | None = None,
    size: int = 224,
    patch: int = 16,
    width: int = 384,
    depth: int = 12,
    heads: int = 6,
    mean: Channels = HALF,
    std: Channels = HALF,
) -> Backbone:
    """A small vision transformer with timm's tensor names; loads timm's weights from a .safetensors file.

    Args:
        pretrained: whether to load the weights of the file (default); False starts from random ones.
        weights: .safetensors file for the same size and patch; None by default.
        size: side of the images in pixels, a multiple of the patch.
        patch: side of a patch in pixels.
        width: width F of the tokens and the features.
        depth: number of blocks.
        heads: number of attention heads, which divides the width.
        mean: mean of each channel (red, green, blue) on a scale from 0 to 1.
        std: standard deviation of each channel on the same scale.
    """
    check_weights_source("vit-small", weights, pretrained=pretrained)
    backbone = VisionTransformer(ImageTransform(size, mean, std), patch=patch, width=width, depth=depth, heads=heads)
    if weights is not None:
        load_weights(backbone, weights, classifier="head")
    return backbone


class Attention(nn.Module):
    """Multi-head self-attention. Shape: (B, T, width) to (B, T, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Shape (B, T, width) to (B, T, width)."""
        parts = self.qkv(tokens).unflatten(2, (3, self.heads, -1))  # (B, T, 3, heads, width / heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (B, heads, T, width / heads)
        attended = F.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.proj(attended.transpose(1, 2).flatten(2))  # (B, T, width)
        return out


class Mlp(nn.Module):
    """Feed-forward network with a hidden layer of four times the width. Shape: (B, T, width) to (B, T, width)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Shape (B, T, width) to (B, T, width)."""
        out: Tensor = self.fc2(F.gelu(self.fc1(tokens)))
        return out


class TransformerBlock(nn.Module):
    """Pre-norm attention and MLP with residual connections. Shape: (B, T, width) to (B, T, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=EPSILON)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=EPSILON)
        self.mlp = Mlp(width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Shape (B, T, width) to (B, T, width)."""
        tokens = tokens + self.attn(self.norm1(tokens))
        out: Tensor = tokens + self.mlp(self.norm2(tokens))
        return out


class PatchEmbedding(nn.Module):
    """A linear map of every patch. Shape: (B, 3, S, S) to (B, (S / patch)², width)."""

    def __init__(self, patch: int, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, stride=patch)

    def forward(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, (S / patch)², width)."""
        out: Tensor = self.proj(batch).flatten(2).transpose(1, 2)
        return out


class VisionTransformer(Backbone):
    """A vision transformer [dosovitskiy2021]: patches and a class token, whose last state is the feature.

    Note:
        Random weights are normal with standard deviation 0.02, truncated at ±2; biases are 0, as is usual in training
        from scratch.

    Shape:
        batch: (B, 3, S, S). Output: (B, width).
    """

    def __init__(self, preprocess: ImageTransform, *, patch: int, width: int, depth: int, heads: int) -> None:
        size = preprocess.size
        if min(patch, width, depth, heads) < 1 or size % patch or width % heads:
            raise ValueError(
                f"expected a size that is a multiple of the patch and a width that is a multiple of the heads, got "
                f"size {size}, patch {patch}, width {width}, heads {heads}, depth {depth}"
            )
        super().__init__("images", width, preprocess)
        self.patch_embed = PatchEmbedding(patch, width)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (size // patch) ** 2, width))
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self._draw_weights()

    def _draw_weights(self) -> None:
        for token in (self.cls_token, self.pos_embed):
            nn.init.trunc_normal_(token, std=0.02)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)

    def forward(self, batch: Tensor) -> Tensor:
        """Shape (B, 3, S, S) to (B, width)."""
        patches = self.patch_embed(batch)  # (B, T - 1, width)
        tokens = (
            torch.cat([self.cls_token.expand(patches.shape[0], -1, -1), patches], dim=1) + self.pos_embed
        )  # (B, T, width)
        out: Tensor = self.norm(self.blocks(tokens))[:, 0]  # (B, width)
        return out
