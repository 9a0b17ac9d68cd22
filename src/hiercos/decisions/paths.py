"""One answer at every level, taken from the class that wins: consistent by construction."""

import torch
from torch import Tensor

from hiercos.taxonomy import Taxonomy


def predicted_classes(scores: Tensor) -> Tensor:
    """The class with the highest score, the lower index among equals; (B, C) to (B,).

    Raises:
        ValueError: naming the first row with a score that is not a number.
    """
    if (bad := scores.isnan().any(dim=1)).any():
        raise ValueError(f"row {int(bad.nonzero()[0])}: a score is not a number")
    best = scores.amax(dim=1, keepdim=True)
    return (scores == best).to(torch.uint8).argmax(dim=1)


def predicted_paths(scores: Tensor, taxonomy: Taxonomy) -> Tensor:
    """The path of the class with the highest score.

    Full-path accuracy then equals top-1 accuracy, and no path is ever inconsistent.

    Args:
        scores: of the classes, shape (B, C), higher is better.
        taxonomy: the tree.

    Returns:
        Nodes, shape (B, H), level 1 first, -1 beyond the class's depth.
    """
    classes = predicted_classes(scores).cpu().numpy()
    return torch.from_numpy(taxonomy.path_table(taxonomy.leaves[classes])).to(scores.device)
