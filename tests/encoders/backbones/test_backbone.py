import json

import pytest
import torch
from torch import Tensor, nn

from hiercos.encoders.backbones import BACKBONES, Backbone, BackboneError, ImageTransform, load_backbone
from hiercos.encoders.backbones.table import BackboneTable
from hiercos.methods import weights_hash
from hiercos.paper.resnet import WideResNet28

SMALL = {"efficientnet-lite0": {}, "resnet-50": {}, "wide-resnet-28": {"width": 1}}


class Mean(Backbone):
    """The mean of each colour, scaled."""

    def __init__(self) -> None:
        super().__init__("images", 3, ImageTransform(8))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, batch: Tensor) -> Tensor:
        return batch.mean((2, 3)) * self.scale


def test_the_identity_of_a_backbone_is_json() -> None:
    identity = json.loads(json.dumps(Mean().identity()))
    assert identity["name"] == "Mean"
    assert identity["options"] == {}
    assert identity["preprocessing"]["size"] == 8
    assert len(identity["weights"]) == 64


def test_the_identity_changes_with_the_weights_and_the_preprocessing_alone() -> None:
    first, second = Mean(), Mean()
    assert first.identity() == second.identity()
    with torch.no_grad():
        second.scale[1] = 2
    assert first.identity() != second.identity()
    other = Mean()
    other.preprocess = ImageTransform(9)
    assert first.identity() != other.identity()


def test_the_hash_of_weights_does_not_see_the_order_of_names_or_of_memory() -> None:
    values = {"a": torch.arange(24.0).view(1, 4, 2, 3), "b": torch.tensor(7)}
    same = {"b": torch.tensor(7), "a": values["a"].to(memory_format=torch.channels_last)}
    assert not same["a"].is_contiguous()
    assert weights_hash(values) == weights_hash(same)


def test_the_hash_of_weights_sees_names_kinds_and_shapes() -> None:
    value = torch.zeros(4)
    states = [
        {"a": value},
        {"b": value},
        {"a": value.view(2, 2)},
        {"a": value.to(torch.int32)},
        {"a": value.bfloat16()},
    ]
    assert len({weights_hash(state) for state in states}) == len(states)


def small(size: int) -> Backbone:
    return WideResNet28(ImageTransform(size), width=1, momentum=0.1)


def test_the_backbones_of_the_paper_and_the_offline_one_are_registered() -> None:
    assert set(SMALL) <= set(BACKBONES)


@pytest.mark.parametrize(("name", "options"), SMALL.items())
def test_every_backbone_says_what_it_is_and_takes_images_of_a_size(name: str, options: dict[str, int]) -> None:
    assert BACKBONES.summary(name)
    backbone = load_backbone(name, pretrained=False, size=64, **options).eval()
    with torch.no_grad():
        features = backbone(torch.randn(2, 3, 64, 64))
    assert features.shape == (2, backbone.num_features)
    assert (backbone.name, backbone.kind, backbone.options) == (name, "images", {"size": 64, **options})


@pytest.mark.parametrize(("name", "options"), SMALL.items())
def test_a_backbone_is_rebuilt_from_its_identity(name: str, options: dict[str, int]) -> None:
    backbone = load_backbone(name, pretrained=False, size=32, mean=[0.1, 0.2, 0.3], **options)
    identity = backbone.identity()
    again = load_backbone(identity["name"], pretrained=False, **identity["options"])
    assert again.identity()["weights"] != identity["weights"]
    again.load_state_dict(backbone.state_dict())
    assert again.identity() == identity


@pytest.mark.parametrize(("name", "options"), SMALL.items())
def test_every_parameter_of_a_backbone_learns(name: str, options: dict[str, int]) -> None:
    backbone = load_backbone(name, pretrained=False, size=64, **options)
    backbone(torch.randn(2, 3, 64, 64)).square().sum().backward()
    assert [key for key, value in backbone.named_parameters() if value.grad is None] == []


def test_an_unknown_backbone_is_an_error_that_suggests_the_nearest() -> None:
    with pytest.raises(BackboneError, match="unknown backbone 'resnet50'; did you mean 'resnet-50'"):
        load_backbone("resnet50")


def test_every_wrong_option_is_named() -> None:
    with pytest.raises(BackboneError) as caught:
        load_backbone("wide-resnet-28", sise=3, width="wide")
    assert caught.value.faults == (
        "backbone 'wide-resnet-28' has no option 'sise'; did you mean 'size'?",
        "backbone 'wide-resnet-28': option width: expected an integer, got 'wide'",
    )


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("wide-resnet-28", {"width": 0}, "expected a width of at least 1, got 0"),
        ("wide-resnet-28", {"stem": 0}, "expected a stem of at least 1 feature, got 0"),
        ("resnet-50", {"mean": [0.5]}, "expected three means"),
        ("resnet-50", {"std": [0.5, 0.5, 0]}, "three positive stds"),
        ("efficientnet-lite0", {"size": 0}, "expected a size of 1 to 8192 pixels, got 0"),
    ],
)
def test_a_value_that_a_backbone_refuses_is_named(name: str, options: dict[str, object], reason: str) -> None:
    with pytest.raises(BackboneError, match=f"backbone '{name}' with .*{reason}"):
        load_backbone(name, pretrained=False, **options)


@pytest.mark.parametrize("name", ["resnet-50", "wide-resnet-28"])
def test_a_backbone_without_weights_says_what_to_give(name: str) -> None:
    with pytest.raises(BackboneError, match=f"backbone '{name}' comes without trained weights; give weights="):
        load_backbone(name)


def test_weights_and_a_random_start_exclude_each_other() -> None:
    with pytest.raises(BackboneError, match=r"weights='a.safetensors' and pretrained=False exclude each other"):
        load_backbone("efficientnet-lite0", pretrained=False, weights="a.safetensors")


def test_a_prefix_stands_for_all_names_that_start_with_it() -> None:
    table = BackboneTable("backbone", BackboneError, entry_points="hiercos.test_backbones")

    @table.register("wide:")
    def wide(model: str, *, pretrained: bool = True, size: int = 8) -> Backbone:
        """Wide things."""
        return small(int(model) + size)

    assert (list(table), table.names()) == (["wide:"], ["wide:MODEL"])
    assert table.summary("wide:3") == "Wide things."
    assert table.options("wide:3") == {"size": 8}
    assert table["wide:3"](pretrained=False, size=9).preprocess.to_dict()["size"] == 12
    with pytest.raises(BackboneError, match="backbone 'wide:3' has no option 'depth'"):
        table.check_options("wide:3", {"depth": 2})
    for name in ("wide:", "wide", "narrow:3"):
        with pytest.raises(BackboneError, match=f"unknown backbone '{name}'; .*wide:MODEL"):
            table.check_options(name, {})
