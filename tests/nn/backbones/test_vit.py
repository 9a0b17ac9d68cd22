import torch
from torch import nn

from hiercos.nn.backbones import ImageTransform, load_backbone
from hiercos.nn.backbones.vit import Attention, TransformerBlock, VisionTransformer


def test_the_small_transformer_has_the_size_of_that_name() -> None:
    backbone = load_backbone("vit-small", pretrained=False)
    assert sum(value.numel() for value in backbone.parameters()) == 22_050_664 - 385_000  # without its classifier
    assert backbone.num_features == 384
    assert backbone.pos_embed.shape == (1, 197, 384)


def test_tensors_have_the_names_of_timm() -> None:
    backbone = load_backbone("vit-small", pretrained=False, depth=1)
    layers = ("norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2")
    expected = {
        "cls_token",
        "pos_embed",
        "patch_embed.proj.weight",
        "patch_embed.proj.bias",
        "norm.weight",
        "norm.bias",
    }
    expected |= {f"blocks.0.{layer}.{part}" for layer in layers for part in ("weight", "bias")}
    assert set(backbone.state_dict()) == expected


def test_attention_agrees_with_torch() -> None:
    torch.manual_seed(0)
    own, reference = Attention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
    reference.load_state_dict(
        {
            "in_proj_weight": own.qkv.weight,
            "in_proj_bias": own.qkv.bias,
            "out_proj.weight": own.proj.weight,
            "out_proj.bias": own.proj.bias,
        }
    )
    tokens = torch.randn(2, 5, 12)
    torch.testing.assert_close(own(tokens), reference(tokens, tokens, tokens)[0])


def test_a_block_agrees_with_torch() -> None:
    torch.manual_seed(0)
    own = TransformerBlock(12, 3)
    reference = nn.TransformerEncoderLayer(
        12, 3, 48, dropout=0, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    )
    with torch.no_grad():
        for mine, theirs in zip(own.parameters(), matching(reference), strict=True):
            mine.copy_(theirs)
    tokens = torch.randn(2, 5, 12)
    torch.testing.assert_close(own(tokens), reference(tokens))


def matching(layer: nn.TransformerEncoderLayer) -> list[nn.Parameter]:
    attention = layer.self_attn
    parts = [attention.in_proj_weight, attention.in_proj_bias, *attention.out_proj.parameters()]
    first, second = list(layer.norm1.parameters()), list(layer.norm2.parameters())
    return [*first, *parts, *second, *layer.linear1.parameters(), *layer.linear2.parameters()]


def test_patches_are_numbered_row_by_row_after_the_class_token() -> None:
    backbone = VisionTransformer(ImageTransform(8), patch=4, width=6, depth=1, heads=1)
    nn.init.ones_(backbone.patch_embed.proj.weight)
    nn.init.zeros_(backbone.patch_embed.proj.bias)
    batch = torch.zeros(1, 3, 8, 8)
    batch[0, 0, 0, 7], batch[0, 1, 7, 0] = 1.0, 2.0
    assert backbone.patch_embed(batch)[0, :, 0].tolist() == [0.0, 1.0, 2.0, 0.0]


def test_it_is_traced_with_any_batch_size() -> None:
    backbone = VisionTransformer(ImageTransform(8), patch=4, width=12, depth=1, heads=2).eval()
    batch = {0: torch.export.Dim("batch")}
    traced = torch.export.export(backbone, (torch.randn(2, 3, 8, 8),), dynamic_shapes=(batch,)).module()
    images = torch.randn(5, 3, 8, 8)
    torch.testing.assert_close(traced(images), backbone(images))
