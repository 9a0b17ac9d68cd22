"""Hier-COS models pruned to one level: only the weights that lead to its axes stay [sani2026]."""

import copy
from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.engine.model_folder import ModelError, StoredModel
from hiercos.methods import Model
from hiercos.nn import HierCOSHead
from hiercos.taxonomy import IntArray, Taxonomy, check_tree


class Coordinates(nn.Module):
    """Selects coordinates. Shape: (B, N) to (B, K)."""

    places: Tensor  # (K,)

    def __init__(self, places: Tensor) -> None:
        super().__init__()
        self.register_buffer("places", places)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, N) to (B, K)."""
        return x.index_select(1, self.places)


def level_model(stored: StoredModel, level: int) -> StoredModel:
    """The model of one level of a Hier-COS model: its classes are the nodes of the level.

    The subspace of node i is the span of its own axis, V_i = span{e_i}, so the answer is the largest |x_i|.

    Args:
        stored: Hier-COS model over a tree.
        level: level from 1 to H.

    Raises:
        ModelError: for a model of another method, with a fine-tuned backbone, or a level that the tree lacks.
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
    return StoredModel(pruned.eval(), stored.encoder)


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
        return nn.Sequential(head.transformation, head.expand, head.activation, rows)
    activation = _pruned_activation(head.activation, nodes)
    if isinstance(head.expand, nn.Linear):
        axes = _linear(head.expand.weight[nodes], head.expand.bias[nodes])
        return nn.Sequential(head.transformation, axes, activation)
    block: Any = head.transformation.blocks[1]  # its width is N, and that of the block before
    *first, last, norm, slopes = block.body
    block.body = nn.Sequential(*first, _linear(last.weight[nodes], None), _pruned(norm, nodes), _pruned(slopes, nodes))
    block.shortcut = Coordinates(nodes)
    return nn.Sequential(head.transformation, activation)


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight = nn.Parameter(weight.detach().clone())
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach().clone())
    return layer


def _pruned_activation(activation: nn.Module, nodes: Tensor) -> nn.Module:
    """The activation of the given axes: the identity, or layers with a weight for each axis."""
    return nn.Sequential(*(_pruned(layer, nodes) for layer in activation.children()))


def _pruned(layer: nn.Module, nodes: Tensor) -> nn.Module:
    """A batch norm or PReLU of the given axes alone."""
    pruned: nn.Module = nn.PReLU(len(nodes))
    if isinstance(layer, nn.BatchNorm1d):
        pruned = nn.BatchNorm1d(len(nodes), eps=layer.eps, momentum=layer.momentum)
    state = {name: value if value.ndim == 0 else value[nodes] for name, value in layer.state_dict().items()}
    pruned.load_state_dict(state)
    return pruned
