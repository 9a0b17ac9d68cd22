import json

import torch
from torch import Tensor, nn

from hiercos.nn.backbones import Backbone, ImageTransform
from hiercos.nn.backbones.backbone import weights_hash


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
