"""What every function of embeddings asks of them: one coordinate per node, and precision enough for sums."""

import torch
from torch import Tensor


def checked_embeddings(z: Tensor, num_nodes: int) -> Tensor:
    """The embeddings, shape (B, N), in float32 where they come in half precision: sums of squares outgrow that.

    Args:
        z: coordinates in the node basis.
        num_nodes: N, the width they must have.

    Raises:
        ValueError: for another shape.
    """
    if z.ndim != 2 or z.shape[1] != num_nodes:
        raise ValueError(f"expected embeddings of shape (B, {num_nodes}), got {tuple(z.shape)}")
    return enough_precision(z)


def enough_precision(values: Tensor) -> Tensor:
    """The values in float32 where they come in half precision, as they are elsewhere."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values
