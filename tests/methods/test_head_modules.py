import pytest
import torch
from torch import Tensor, nn

from hiercos.methods import ResidualBlock, TransformationModule
from hiercos.methods.heads import SlicedHeads, UnitRowLinear, slice_widths


def batch_norm(values: Tensor) -> Tensor:
    """Batch norm with fresh weights in training: mean 0, variance 1 over the batch."""
    return (values - values.mean(dim=0)) / (values.var(dim=0, unbiased=False) + 1e-5).sqrt()


def prelu(values: Tensor) -> Tensor:
    """PReLU with its first slope."""
    return torch.where(values > 0, values, 0.25 * values)


@pytest.mark.parametrize(("in_features", "width"), [(5, 5), (7, 5)])
def test_a_block_is_its_formula(in_features: int, width: int) -> None:
    torch.manual_seed(0)
    block = ResidualBlock(in_features, width)
    x = torch.randn(16, in_features)
    first, second = (layer.weight for layer in block.body if isinstance(layer, nn.Linear))
    shortcut = x if in_features == width else x @ block.shortcut.weight.T
    expected = shortcut + prelu(batch_norm(prelu(batch_norm(x @ first.T)) @ second.T))
    torch.testing.assert_close(block(x), expected)


@pytest.mark.parametrize("stem", ["norm", "linear"])
def test_the_module_is_a_stem_and_two_blocks(stem) -> None:
    torch.manual_seed(0)
    module = TransformationModule(7, 5, stem=stem)
    x = torch.randn(16, 7)
    stemmed = batch_norm(x @ module.stem[0].weight.T if stem == "linear" else x)
    torch.testing.assert_close(module(x), module.blocks[1](module.blocks[0](stemmed)))


def test_dropout_acts_on_the_stem_in_training_only() -> None:
    torch.manual_seed(0)
    module = TransformationModule(7, 5, dropout=0.5)
    x = torch.randn(64, 7)
    dropped = (module.stem(x) == 0).float().mean()
    assert 0.4 < dropped < 0.6
    assert (module.eval().stem(x) != 0).all()


def test_a_module_without_width_is_refused() -> None:
    with pytest.raises(ValueError, match="expected in_features and width of at least 1, got 0 and 5"):
        TransformationModule(0, 5)


@pytest.mark.parametrize(
    ("features", "levels", "widths"),
    [
        (512, 5, [102, 102, 102, 103, 103]),  # CIFAR-100, as published
        (100, 3, [33, 33, 34]),  # FGVC-Aircraft, as published
        (600, 12, [50] * 12),  # tieredImageNet-H, as published
        (2, 4, [0, 0, 1, 1]),
        (7, 1, [7]),
    ],
)
def test_slices_are_equal_with_the_rest_at_the_finest(features: int, levels: int, widths: list[int]) -> None:
    assert slice_widths(features, levels) == widths


def test_each_level_sees_its_slice_and_the_finer_ones() -> None:
    heads = SlicedHeads(6, [2, 3, 4])
    features = torch.randn(5, 6)
    logits = heads(features)
    expected = [heads.classifiers[level](features[:, 2 * level :]) for level in range(3)]
    torch.testing.assert_close(logits, torch.cat(expected, dim=1))


def test_unit_rows_have_length_one_and_make_the_logits() -> None:
    layer = UnitRowLinear(4, 3)
    torch.testing.assert_close(layer.unit_rows().norm(dim=1), torch.ones(3))
    features = torch.randn(2, 4)
    weight = layer.linear.weight
    expected = features @ (weight / weight.norm(dim=1, keepdim=True)).T + layer.linear.bias
    torch.testing.assert_close(layer(features), expected)
