from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from encoders.backbones.photos import noise
from hiercos.encoders.backbones import BackboneError, ImageTransform, ModuleBackbone

TRANSFORM = ImageTransform(16)


class Lengths:
    """A preprocessing of texts: their length, and how many words they have."""

    def __call__(self, samples: Any) -> dict[str, Tensor]:
        return {"counts": torch.tensor([[len(text), len(text.split())] for text in samples], dtype=torch.float32)}

    def to_dict(self) -> dict[str, Any]:
        return {"counts": "characters and words"}


class OfTexts(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["counts"] * 2


class OfObjects(nn.Module):
    def forward(self, batch: Tensor) -> Any:
        return SimpleNamespace(last_hidden_state=batch)


def test_maps_are_averaged_and_their_channels_counted() -> None:
    convolution = nn.Conv2d(3, 5, kernel_size=3)
    backbone = ModuleBackbone(convolution, preprocess=TRANSFORM)
    batch = TRANSFORM([noise(20, 30), noise(16, 16)])
    assert (backbone.kind, backbone.num_features) == ("images", 5)
    torch.testing.assert_close(backbone(batch), convolution(batch).mean(dim=(2, 3)))


def test_features_stay_as_they_are() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16 * 16, 7))
    backbone = ModuleBackbone(module, preprocess=TRANSFORM)
    batch = TRANSFORM([noise(20, 30)])
    assert backbone.num_features == 7
    assert torch.equal(backbone(batch), module(batch))


def test_a_module_of_texts_gets_what_its_preprocessing_makes() -> None:
    backbone = ModuleBackbone(OfTexts(), kind="texts", preprocess=Lengths())
    assert backbone.num_features == 2
    assert backbone(backbone.preprocess(["a cat", "dog"])).tolist() == [[10.0, 4.0], [6.0, 2.0]]


def test_trying_a_module_changes_neither_its_modes_nor_its_statistics() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Dropout())
    module[2].eval()
    before = module[1].running_mean.clone()
    ModuleBackbone(module, preprocess=TRANSFORM)
    assert [part.training for part in module] == [True, True, False]
    assert module.training
    assert torch.equal(module[1].running_mean, before)


def test_a_given_number_of_features_is_not_tried() -> None:
    assert ModuleBackbone(OfObjects(), 9, preprocess=TRANSFORM).num_features == 9


def test_an_object_is_not_guessed() -> None:
    with pytest.raises(BackboneError, match=r"expected a tensor of features, got an object of type SimpleNamespace$"):
        ModuleBackbone(OfObjects(), preprocess=TRANSFORM)


def test_tokens_are_not_guessed() -> None:
    with pytest.raises(BackboneError, match=r"got the shape \(1, 3, 256\)$"):
        ModuleBackbone(nn.Flatten(2), preprocess=TRANSFORM)


def test_modules_with_equal_weights_are_told_apart() -> None:
    weights = nn.Conv2d(3, 4, 1)
    plain, squared = nn.Sequential(weights, nn.ReLU()), nn.Sequential(weights, nn.Tanh())
    first, second = (ModuleBackbone(module, preprocess=TRANSFORM).identity() for module in (plain, squared))
    assert first["weights"] == second["weights"]
    assert first != second
    assert first["name"] == "torch.nn.modules.container.Sequential"
