"""What the tests of the losses share: random batches, and the mean of a slow per-sample loss."""

from collections.abc import Callable

import torch
from torch import Tensor

from geometry.spans import normal
from hiercos import Taxonomy


def random_batch(taxonomy: Taxonomy, columns: int, *, seed: int, count: int = 4) -> tuple[Tensor, Tensor]:
    """Random outputs (count, columns) in float64 and random labels (count,)."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, taxonomy.num_classes, (count,), generator=generator)
    return normal(count, columns, seed=seed).mul(2), labels


def random_node_batch(taxonomy: Taxonomy, columns: int, *, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random outputs (6, columns), labels (6,) of which some are classes and some C + node, and their nodes (6,)."""
    generator = torch.Generator().manual_seed(seed)
    classes = torch.randint(0, taxonomy.num_classes, (3,), generator=generator)
    nodes = torch.randint(0, taxonomy.num_nodes, (3,), generator=generator)
    labels = torch.cat([classes, taxonomy.num_classes + nodes])
    return normal(6, columns, seed=seed).mul(2), labels, torch.cat([torch.tensor(taxonomy.leaves)[classes], nodes])


def sample_mean(loss: Callable[[Tensor, int], Tensor | float], outputs: Tensor, labels: Tensor) -> Tensor:
    """The mean of a loss written for one sample."""
    values = [loss(row, int(label)) for row, label in zip(outputs, labels, strict=True)]
    return torch.stack([torch.as_tensor(value, dtype=outputs.dtype) for value in values]).mean()


def padded_nodes(taxonomy: Taxonomy) -> list[list[int]]:
    """The nodes of each level in node order, with the leaves above it."""
    inner = {int(parent) for parent in taxonomy.parents}
    depths = [len(taxonomy.path(node)) for node in range(taxonomy.num_nodes)]
    return [
        [node for node, depth in enumerate(depths) if depth == level or (depth < level and node not in inner)]
        for level in range(1, taxonomy.height + 1)
    ]
