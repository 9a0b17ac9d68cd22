import pytest
import torch
from torch import nn

from geometry.published import published_tree
from hiercos.methods import HierCOSHead, TransformationModule
from hiercos.methods.heads import random_orthogonal
from trees import TOY, TOY17


def trainable(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


# The published code adds a frozen N x N matrix and a frozen N-vector of zeros, its bias; the vector is left out here.
@pytest.mark.parametrize(
    ("in_features", "nodes", "stem", "published"),
    [
        (2048, 200, "linear", 572_400),
        (512, 134, "linear", 142_308),
        (2048, 1189, "linear", 8_106_602),
        (2048, 842, "linear", 4_572_060),
        (1024, 1189, "norm", 6_692_551),
        (768, 842, "norm", 3_431_844),
    ],
)
def test_trainable_parameters_are_as_many_as_published(in_features: int, nodes: int, stem, published: int) -> None:
    with torch.device("meta"):
        module = TransformationModule(in_features, nodes, stem=stem)
    assert trainable(module) == published


@pytest.mark.parametrize(
    ("name", "in_features", "published"),
    [
        ("fgvc_aircraft", 2048, 572_400),
        ("cifar100", 512, 142_308),
        ("inaturalist19", 2048, 8_106_602),
        ("tiered_imagenet_h", 2048, 4_572_060),
    ],
)
def test_heads_on_the_published_trees_have_the_published_size(name: str, in_features: int, published: int) -> None:
    taxonomy = published_tree(name)
    with torch.device("meta"):
        head = HierCOSHead(in_features, taxonomy, stem="linear")
    assert trainable(head) == published
    assert list(head.buffers(recurse=False)) == []  # the identity costs nothing


def test_a_narrow_head_has_blocks_of_that_width_and_one_map_to_the_nodes() -> None:
    head = HierCOSHead(7, TOY17, width=6)
    blocks = 2 * 7 + 2 * 7 * 6 + 3 * 6**2 + 12 * 6
    assert trainable(head) == blocks + 6 * TOY17.num_nodes + TOY17.num_nodes
    features = torch.randn(4, 7, generator=torch.Generator().manual_seed(0))
    head.eval()
    expected = head.transformation(features) @ head.expand.weight.T + head.expand.bias
    torch.testing.assert_close(head(features), expected)
    assert expected.shape == (4, TOY17.num_nodes)


def test_a_random_basis_turns_the_embedding_without_changing_its_length() -> None:
    torch.manual_seed(0)
    head = HierCOSHead(7, TOY17, basis="random").eval()
    features = torch.randn(4, 7)
    before = head.transformation(features)
    expected = torch.stack([head.basis @ row for row in before])  # x = Q y
    torch.testing.assert_close(head(features), expected)
    torch.testing.assert_close(head(features).norm(dim=1), before.norm(dim=1))


def test_a_random_basis_is_orthogonal_and_the_same_for_the_same_generator() -> None:
    basis, again, other = (random_orthogonal(40, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    torch.testing.assert_close(basis @ basis.T, torch.eye(40), rtol=0, atol=1e-6)
    assert torch.equal(basis, again)
    assert not torch.allclose(basis, other)
    heads = [HierCOSHead(3, TOY, basis="random", generator=torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(heads[0].basis, heads[1].basis)


@pytest.mark.parametrize("options", [{}, {"width": 6}, {"basis": "random"}, {"stem": "linear", "basis": "random"}])
def test_a_head_computes_the_same_after_its_state_went_to_another(options) -> None:
    features = torch.randn(8, 7, generator=torch.Generator().manual_seed(0))
    trained, fresh = HierCOSHead(7, TOY17, **options), HierCOSHead(7, TOY17, **options)
    trained(features)  # moves the running statistics
    fresh.load_state_dict(trained.state_dict())
    assert torch.equal(fresh.eval()(features), trained.eval()(features))


def test_the_state_of_another_basis_is_refused() -> None:
    with pytest.raises(RuntimeError, match="basis"):
        HierCOSHead(7, TOY).load_state_dict(HierCOSHead(7, TOY, basis="random").state_dict())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"basis": "skew"}, "expected basis to be one of identity, random, got 'skew'"),
        ({"stem": "conv"}, "expected stem to be one of norm, linear, got 'conv'"),
        ({"width": 0}, "expected in_features and width of at least 1, got 7 and 0"),
        ({"dropout": 1.5}, "dropout"),
    ],
)
def test_wrong_arguments_are_refused(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HierCOSHead(7, TOY, **options)


def test_shifted_coordinates_have_the_same_softmax_and_a_least_one_of_0() -> None:
    features, head = torch.randn(16, 7), HierCOSHead(7, TOY17, width=6, shifted=True)
    plain = HierCOSHead(7, TOY17, width=6)
    plain.load_state_dict(head.state_dict())
    z = head(features)
    assert z.amin(dim=1).tolist() == [0] * 16
    torch.testing.assert_close(z.abs().softmax(dim=1), plain(features).softmax(dim=1))
