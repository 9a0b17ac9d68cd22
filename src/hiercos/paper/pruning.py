"""Hier-COS models pruned to one level [sani2026], and what that costs: accuracy, size and time."""

import copy
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.data import Inputs
from hiercos.encoders import ReadConfig, SingleDevice
from hiercos.methods import Columns, HierCOSHead, Model
from hiercos.metrics import functional as HF
from hiercos.model import Classifier, ModelError
from hiercos.taxonomy import IntArray, Taxonomy, check_tree

REPEATS = 5  # passes over the samples, of which the fastest counts


def level_model(stored: Classifier, level: int) -> Classifier:
    """The model of one level of a Hier-COS model: its classes are the nodes of the level.

    The subspace of node i is the span of its own axis, V_i = span{e_i}, so the answer is the largest |x_i|.
    """
    model = stored.model
    if not isinstance(model.head, HierCOSHead) or model.backbone is not None:
        raise ModelError(f"expected a model of 'hier-cos' with frozen features to prune, got one of {model.method!r}")
    check_tree(model.taxonomy, "a model of one level")
    if not 1 <= level <= model.taxonomy.height:
        raise ModelError(f"expected a level from 1 to {model.taxonomy.height}, got {level}")
    nodes = torch.arange(*model.taxonomy.level(level).indices(model.taxonomy.num_nodes))
    pruned = Model(level_taxonomy(model.taxonomy, nodes.numpy()), model.in_features, model.method)
    pruned.standardize.load_state_dict(model.standardize.state_dict())
    pruned.head = _pruned_head(copy.deepcopy(model.head), nodes)
    return Classifier(pruned.eval(), stored.encoder)


def level_taxonomy(taxonomy: Taxonomy, nodes: IntArray) -> Taxonomy:
    """Taxonomy of one level whose classes are the given nodes, by path where two share a name."""
    counts = Counter(taxonomy.names[node] for node in nodes)
    names = [taxonomy.names[node] for node in nodes]
    texts = [taxonomy.path_text(int(node)) for node in nodes]
    unique = [name if counts[name] == 1 else text for name, text in zip(names, texts, strict=True)]
    ids = [taxonomy.ids[node] for node in nodes] if taxonomy.ids else ()
    return Taxonomy.from_arrays(unique, [-1] * len(unique), ids=ids)


def _pruned_head(head: HierCOSHead, nodes: Tensor) -> nn.Module:
    """The head with the given axes alone."""
    if head.basis is not None:
        rows = _linear(head.basis[nodes], None)
        return nn.Sequential(head.transformation, head.expand, rows, head.shift)
    if isinstance(head.expand, nn.Linear):
        axes = _linear(head.expand.weight[nodes], head.expand.bias[nodes])
        return nn.Sequential(head.transformation, axes, head.shift)
    block: Any = head.transformation.blocks[1]  # its width is N, and that of the block before
    *first, last, norm, slopes = block.body
    block.body = nn.Sequential(*first, _linear(last.weight[nodes], None), _pruned(norm, nodes), _pruned(slopes, nodes))
    block.shortcut = Columns(nodes)
    return nn.Sequential(head.transformation, head.shift)


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight = nn.Parameter(weight.detach().clone())
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach().clone())
    return layer


def _pruned(layer: nn.Module, nodes: Tensor) -> nn.Module:
    """A batch norm or PReLU of the given axes alone."""
    pruned: nn.Module = nn.PReLU(len(nodes))
    if isinstance(layer, nn.BatchNorm1d):
        pruned = nn.BatchNorm1d(len(nodes), eps=layer.eps, momentum=layer.momentum)
    state = {name: value if value.ndim == 0 else value[nodes] for name, value in layer.state_dict().items()}
    pruned.load_state_dict(state)
    return pruned


@dataclass(frozen=True)
class LevelCost:
    """Accuracy, size and time of a model at one level."""

    accuracy: float  # share of the samples whose answer at the level is right
    samples: int  # number of samples whose label has the level
    size: int  # bytes of the model's weights
    microseconds: float  # time of the head and the scores for one sample, on the CPU


def level_costs(
    whole: Classifier, pruned: Classifier, inputs: Inputs, labels: IntArray, level: int
) -> dict[str, LevelCost]:
    """Costs of a whole model and of the model pruned to a level, by name.

    Args:
        whole: Hier-COS model; its answer at a level is the node with the best score there.
        pruned: result of `level_model`.
        inputs: M inputs of the model's kind.
        labels: label of each input, a class index or C + node, shape (M,).
        level: level of the pruned model.
    """
    features = whole.features(inputs, ReadConfig(SingleDevice("cpu")))
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
def _timed(stored: Classifier, features: Tensor, nodes: slice) -> tuple[Tensor, float]:
    """Best node of each sample among some, shape (M,), and the seconds of the fastest pass."""
    model, fastest, best = stored.model.eval(), float("inf"), torch.empty(0)
    for _ in range(REPEATS):
        start = time.perf_counter()
        best = model.node_scores(model(features))[:, nodes].argmax(dim=1)
        fastest = min(fastest, time.perf_counter() - start)
    return best, fastest
