"""Distance and cosine between embeddings and the subspaces of nodes, and the dimensions of these [sani2026]."""

import torch
from torch import Tensor

from hiercos.geometry import checked_embeddings, leaf_scores, square_root, tree_operations
from hiercos.taxonomy import Taxonomy, subtree_sizes


def subspace_distance(z: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Distance of each embedding to the subspace of every node [sani2026, Eq. (2)].

    d(z, V)^2 = |z|^2 - |P z|^2, the energy of the nodes that are neither ancestors nor descendants, summed in float64:
    exactly 0 for a vector in the subspace, and accurate down to distances of about 1e-8 of the vector's length.

    Args:
        z: embeddings in the node basis, shape (B, N).
        taxonomy: the tree.

    Returns:
        Distances >= 0, shape (B, N), in the precision of z (float32 for half precision).
    """
    z = checked_embeddings(z, taxonomy.num_nodes)
    outside = tree_operations(taxonomy, z.device).unrelated_sums(z.double().square())  # (B, N)
    return square_root(outside).to(z.dtype)


def subspace_cosine(z: Tensor, labels: Tensor, taxonomy: Taxonomy, *, ancestors: bool = True) -> Tensor:
    """Cosine between each embedding and its projection onto the subspace of its class.

    A projection is orthogonal, so (z, P z) = |P z|^2 and the cosine is |P z| / |z|.

    Args:
        z: embeddings in the node basis, shape (B, N).
        labels: true class of each sample, shape (B,).
        taxonomy: the tree.
        ancestors: whether the axes of the ancestors are part of the subspaces, as in `leaf_scores`.

    Returns:
        Cosines in [0, 1], shape (B,): 1 for an embedding within the subspace, 0 for one of length 0.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> subspace_cosine(torch.tensor([[3.0, 0.0, 0.0, 4.0, 0.0]]), torch.tensor([0]), t)
        tensor([0.6000])
    """
    inside = leaf_scores(z, taxonomy, squared=True, ancestors=ancestors).gather(1, labels[:, None]).squeeze(1)  # (B,)
    energy = checked_embeddings(z, taxonomy.num_nodes).square().sum(dim=1)
    return square_root(inside / energy.where(energy > 0, 1)).clamp(max=1)


def subspace_dimensions(taxonomy: Taxonomy) -> Tensor:
    """Dimension of every node's subspace, its adaptive capacity (ancestors, itself, descendants), shape (N,)."""
    return torch.tensor(taxonomy.ancestor_counts - 1 + subtree_sizes(taxonomy))
