"""The slow form of the geometry: explicit sets of axes, dense projection matrices, and ideal vectors."""

import torch
from torch import Tensor

from hiercos import Taxonomy


def spanning_axes(taxonomy: Taxonomy, node: int, *, ancestors: bool = True, descendants: bool = True) -> set[int]:
    """The axes that span the subspace of a node: its ancestors, itself, its descendants."""
    above = set(taxonomy.path(node)) - {node}
    below = {other for other in range(taxonomy.num_nodes) if node in taxonomy.path(other)} - {node}
    return {node} | (above if ancestors else set()) | (below if descendants else set())


def projections(taxonomy: Taxonomy, *, ancestors: bool = True, descendants: bool = True) -> Tensor:
    """The projection matrix of every node's subspace, shape (N, N, N)."""
    matrices = torch.zeros(taxonomy.num_nodes, taxonomy.num_nodes, taxonomy.num_nodes, dtype=torch.float64)
    for node in range(taxonomy.num_nodes):
        for axis in spanning_axes(taxonomy, node, ancestors=ancestors, descendants=descendants):
            matrices[node, axis, axis] = 1
    return matrices


def normal(*shape: int, seed: int) -> Tensor:
    """Standard normal numbers in float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def ideal_vectors(taxonomy: Taxonomy, seed: int) -> Tensor:
    """One vector per class with random coordinates on its path, none of them 0, and 0 elsewhere, shape (C, N)."""
    z = torch.zeros(taxonomy.num_classes, taxonomy.num_nodes, dtype=torch.float64)
    values = normal(taxonomy.num_classes, taxonomy.height, seed=seed)
    values = values + 0.1 * torch.where(values < 0, -1, 1)
    for label, leaf in enumerate(taxonomy.leaves):
        path = list(taxonomy.path(int(leaf)))
        z[label, path] = values[label, : len(path)]
    return z
