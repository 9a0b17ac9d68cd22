"""Scores of a trained model for arrays, in the precision of the arrays and whatever else is in the batch."""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hiercos.engine import Model
from hiercos.engine.device import launched
from hiercos.taxonomy import AnyArray

ROWS_AT_ONCE = 4096


class ClassScores(nn.Module):
    """A model and its rule in one. Shape: features (B, F) to (B, C)."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        scores: Tensor = self.model.class_scores(self.model(features))
        return scores


@torch.inference_mode()
def array_scores(model: Model, features: AnyArray, device: str) -> Tensor:
    """Scores of the classes on the CPU; the model itself stays as and where it is.

    Args:
        model: not in training.
        features: shape (M, F), float32 or float64.
        device: where to compute, see `launched`.

    Returns:
        Shape (M, C), of the type of the features.
    """
    inputs = torch.tensor(features)
    place = torch.device("cpu") if device == "cpu" else launched(device).device
    scores = ClassScores(model)
    weights = {
        name: value.to(place, inputs.dtype if value.is_floating_point() else value.dtype)
        for name, value in (*scores.named_parameters(), *scores.named_buffers())
    }
    parts = [functional_call(scores, weights, (part.to(place),)).cpu() for part in torch.split(inputs, ROWS_AT_ONCE)]
    return torch.cat(parts)
