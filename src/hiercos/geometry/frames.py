"""Fixed class vectors whose cosines follow the taxonomy (dense C x C matrices), and precision checks of embeddings."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiercos.taxonomy import FloatArray, Taxonomy, common_depth_block, descendant_maxima


def checked_embeddings(z: Tensor, num_nodes: int) -> Tensor:
    """Check the shape of embeddings and convert half precision to float32, since sums of squares overflow it.

    Args:
        z: coordinates in the node basis, shape (B, N).
        num_nodes: expected width N.
    """
    if z.ndim != 2 or z.shape[1] != num_nodes:
        raise ValueError(f"expected embeddings of shape (B, {num_nodes}), got {tuple(z.shape)}")
    return enough_precision(z)


def enough_precision(values: Tensor) -> Tensor:
    """Values in half precision converted to float32; other values unchanged."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def class_frame(similarities: FloatArray) -> Tensor:
    """Unit vectors with prescribed cosines: the symmetric square root of the matrix of similarities.

    Any factor W with W W^T = S has these cosines. The symmetric one is unique, hence the same on every
    machine, and for similarities of a tree the largest coordinate of row c is the c-th.

    Args:
        similarities: matrix S, positive semidefinite with ones on the diagonal, shape (C, C). Eigenvalues below 0 by
            rounding count as 0.

    Returns:
        W, shape (C, C) in torch's default dtype, one row per class. Costs O(C^3) once: on two cores about 2 s for
        1,000 classes and 15 s for 3,000; about six arrays of C x C doubles at the peak, 5 GB for 10,000.
    """
    values, vectors = np.linalg.eigh(similarities)
    roots = np.sqrt(np.clip(values, 0, None))
    return torch.tensor((vectors * roots) @ vectors.T, dtype=torch.get_default_dtype())


def height_similarities(taxonomy: Taxonomy) -> FloatArray:
    """1 - height(LCA) / H of every two classes [barz2019], shape (C, C), from 0 to 1.

    The height of a node is the number of levels below it in its own subtree. Where all leaves have the same depth
    it is H - depth; elsewhere it can be smaller.
    """
    heights = node_heights(taxonomy)
    paths = taxonomy.path_table(taxonomy.leaves)  # (C, H), -1 beyond the leaf
    along = np.hstack([np.full((taxonomy.num_classes, 1), taxonomy.height), heights[paths]])  # (C, H + 1), root first
    depths = common_depth_block(taxonomy, np.arange(taxonomy.num_classes))  # (C, C)
    common: FloatArray = 1 - np.take_along_axis(along, depths, axis=1) / taxonomy.height
    return common


def node_heights(taxonomy: Taxonomy) -> NDArray[np.int64]:
    """Number of levels below each node, shape (N,), 0 for a leaf."""
    depths = taxonomy.depths.astype(np.float64)
    deepest = descendant_maxima(depths[None], taxonomy)[0]
    heights: NDArray[np.int64] = (deepest - depths).astype(np.int64)
    return heights


def decaying_similarities(taxonomy: Taxonomy, gamma: float) -> FloatArray:
    """(1 - s) exp(-gamma D / D_max) + s of every two classes, with the least s that cosines allow [liang2023].

    Returns:
        Similarities from s to 1, shape (C, C), positive semidefinite, 1 on the diagonal.
    """
    if not gamma > 0:
        raise ValueError(f"expected gamma above 0, got {gamma}")
    distances = taxonomy.distance_matrix()
    decay = np.exp(-gamma * distances / max(distances.max(), 1))
    floor = similarity_floor(decay)
    similarities: FloatArray = (1 - floor) * decay + floor
    return similarities


def similarity_floor(decay: FloatArray) -> float:
    """The least s for which (1 - s) E + s is positive semidefinite: -1 / (q - 1) with q = 1^T E^-1 1.

    E + t 1 1^T is singular where t q = -1, and t is s / (1 - s). For a single class the floor is 0.

    Args:
        decay: matrix E, positive definite with ones on the diagonal, shape (C, C).
    """
    if len(decay) == 1:
        return 0.0
    q = np.linalg.solve(decay, np.ones(len(decay))).sum()
    return float(-1 / (q - 1))
