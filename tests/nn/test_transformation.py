import pytest
import torch
from torch import Tensor, nn

from hiercos.nn import ResidualBlock, TransformationModule


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


def test_no_linear_map_has_a_bias_and_every_slope_starts_at_a_quarter() -> None:
    module = TransformationModule(7, 5, stem="linear")
    assert [layer.bias for layer in module.modules() if isinstance(layer, nn.Linear)] == [None] * 5
    slopes = [layer.weight for layer in module.modules() if isinstance(layer, nn.PReLU)]
    assert [slope.tolist() for slope in slopes] == [[0.25] * 5] * 4


def test_momentum_is_that_of_the_stem_alone() -> None:
    module = TransformationModule(7, 5, momentum=0.001)
    norms = [layer.momentum for layer in module.modules() if isinstance(layer, nn.BatchNorm1d)]
    assert norms == [0.001, 0.1, 0.1, 0.1, 0.1]


def test_dropout_acts_on_the_stem_in_training_only() -> None:
    torch.manual_seed(0)
    module = TransformationModule(7, 5, dropout=0.5)
    x = torch.randn(64, 7)
    dropped = (module.stem(x) == 0).float().mean()
    assert 0.4 < dropped < 0.6
    assert (module.eval().stem(x) != 0).all()


def test_pooling_and_the_linear_stem_commute() -> None:
    """Projecting a map with a 1x1 convolution and then averaging is averaging and then projecting."""
    torch.manual_seed(0)
    weight = TransformationModule(7, 5, stem="linear").stem[0].weight
    maps = torch.randn(2, 7, 3, 3)
    convolved = nn.functional.conv2d(maps, weight[:, :, None, None]).mean(dim=(2, 3))
    torch.testing.assert_close(convolved, maps.mean(dim=(2, 3)) @ weight.T)


def test_a_module_without_width_is_refused() -> None:
    with pytest.raises(ValueError, match="expected in_features and width of at least 1, got 0 and 5"):
        TransformationModule(0, 5)
