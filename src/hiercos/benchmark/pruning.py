"""Cost of pruning a Hier-COS model to one level: accuracy, size and time, against the whole model."""

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from hiercos.data import Inputs
from hiercos.engine import ReadConfig, StoredModel, launched, model_features
from hiercos.metrics import functional as HF
from hiercos.taxonomy import IntArray

REPEATS = 5  # passes over the samples, of which the fastest counts


@dataclass(frozen=True)
class LevelCost:
    """Accuracy, size and time of a model at one level.

    Attributes:
        accuracy: share of the samples whose answer at the level is right.
        samples: number of samples whose label has the level.
        size: bytes of the model's weights.
        microseconds: time of the head and the scores for one sample, on the CPU.
    """

    accuracy: float
    samples: int
    size: int
    microseconds: float


def level_costs(
    whole: StoredModel, pruned: StoredModel, inputs: Inputs, labels: IntArray, level: int
) -> dict[str, LevelCost]:
    """Costs of a whole model and of the model pruned to a level, by name.

    Args:
        whole: Hier-COS model; its answer at a level is the node with the best score there.
        pruned: result of `level_model`.
        inputs: M inputs of the model's kind.
        labels: label of each input, a class index or C + node, shape (M,).
        level: level of the pruned model.
    """
    features = model_features(whole, inputs, ReadConfig(launched("cpu")))
    assert isinstance(features, Tensor)  # Hier-COS takes dense features
    taxonomy, nodes = whole.model.taxonomy, whole.model.taxonomy.level(level)
    costs = {}
    for name, stored, columns in (("whole", whole, nodes), ("pruned", pruned, slice(None))):
        answer, seconds = _timed(stored, features, columns)
        at_level = torch.full((len(features), taxonomy.height), -1)
        at_level[:, level - 1] = nodes.start + answer
        right = HF.level_accuracy(at_level, torch.tensor(labels), taxonomy)[:, level - 1]
        size = sum(value.nbytes for value in stored.model.state_dict().values())
        counted = int((~right.isnan()).sum())
        costs[name] = LevelCost(float(right.nanmean()), counted, size, 1e6 * seconds / max(1, len(features)))
    return costs


@torch.inference_mode()
def _timed(stored: StoredModel, features: Tensor, nodes: slice) -> tuple[Tensor, float]:
    """Best node of each sample among some, shape (M,), and the seconds of the fastest pass."""
    model, fastest, best = stored.model.eval(), float("inf"), torch.empty(0)
    for _ in range(REPEATS):
        start = time.perf_counter()
        best = model.node_scores(model(features))[:, nodes].argmax(dim=1)
        fastest = min(fastest, time.perf_counter() - start)
    return best, fastest
