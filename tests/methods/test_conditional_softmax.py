import torch
from lightning_fabric import Fabric

from hiercos.encoders import LabelledVectors
from hiercos.methods import METHODS, Model
from hiercos.training import Settings, fit
from trees import TOY


def test_scores_are_not_adjusted() -> None:
    method = METHODS["conditional-softmax"](TOY, in_features=2)
    assert method.prepare is not None
    method.prepare(torch.tensor([0, 0, 0, 2]), None)
    logits = torch.tensor([[0.4, 0.6, 0.25, 0.75, 99.0]]).log()
    torch.testing.assert_close(method.class_scores(logits).exp(), torch.tensor([[0.1, 0.3, 0.6]]))


def test_training_shows_the_method_its_labels_before_the_first_step() -> None:
    labels = torch.tensor([0, 0, 0, 1, 2, 2])
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    model = Model(TOY, 4, "conditional-softmax")
    fit(fabric, model, LabelledVectors(torch.randn(6, 4), labels), None, Settings("conditional-softmax", epochs=1))
    torch.testing.assert_close(
        model.loss.adjustment, torch.tensor([4 / 6, 2 / 6, 3 / 4, 1 / 4, 1.0]).log(), rtol=1e-5, atol=1e-6
    )
    assert not [name for name in model.state_dict() if "adjustment" in name]
