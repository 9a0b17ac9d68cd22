import pytest
import torch

from hiercos.nn.level_heads import SlicedHeads, UnitRowLinear, slice_widths


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


def test_a_level_moves_its_own_slice_alone() -> None:
    heads = SlicedHeads(6, [2, 3, 4])
    for columns, moved in ((slice(0, 2), [0, 1]), (slice(2, 5), [2, 3]), (slice(5, 9), [4, 5])):
        features = torch.randn(5, 6, requires_grad=True)
        heads(features)[:, columns].sum().backward()
        assert features.grad.abs().sum(dim=0).nonzero().squeeze(1).tolist() == moved


def test_unit_rows_have_length_one_and_make_the_logits() -> None:
    layer = UnitRowLinear(4, 3)
    torch.testing.assert_close(layer.unit_rows().norm(dim=1), torch.ones(3))
    features = torch.randn(2, 4)
    weight = layer.linear.weight
    expected = features @ (weight / weight.norm(dim=1, keepdim=True)).T + layer.linear.bias
    torch.testing.assert_close(layer(features), expected)
