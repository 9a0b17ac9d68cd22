"""The tree as index tensors on a device, made once for each taxonomy and device."""

import weakref
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class TreeIndex:
    """What the sums over paths and subtrees read; sizes are Python integers, so nothing waits for a device.

    Attributes:
        sizes: the number of nodes of each level, level 1 first; a level is one run of columns.
        parents: for each level but the first, the parents' positions within the level above, shape (K_level,).
        leaves: the node of each class, shape (C,).
    """

    sizes: tuple[int, ...]
    parents: tuple[Tensor, ...]
    leaves: Tensor


_indices: "weakref.WeakKeyDictionary[Taxonomy, dict[torch.device, TreeIndex]]" = weakref.WeakKeyDictionary()


def tree_index(taxonomy: Taxonomy, device: torch.device) -> TreeIndex:
    """The index tensors of a taxonomy on a device, cached as long as the taxonomy lives."""
    by_device = _indices.setdefault(taxonomy, {})
    if device in by_device:
        return by_device[device]
    with torch.inference_mode(False):  # tensors born in inference mode could not serve a backward pass later
        index = _index(taxonomy, device)
    if type(index.leaves) is Tensor:  # not where a tracer stands in for it, whose tensors serve nobody else
        by_device[device] = index
    return index


# A compiler asks once and keeps the tensors as constants of its graph. This is all that assume_constant_result of
# torch.compiler does, but that would import the whole compiler (a second) for everybody who never compiles.
tree_index._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _index(taxonomy: Taxonomy, device: torch.device) -> TreeIndex:
    starts = taxonomy.level_starts
    parents = torch.tensor(taxonomy.parents, device=device)
    return TreeIndex(
        sizes=tuple(int(end - start) for start, end in pairwise(starts)),
        parents=tuple(
            parents[starts[level] : starts[level + 1]] - int(starts[level - 1]) for level in range(1, taxonomy.height)
        ),
        leaves=torch.tensor(taxonomy.leaves, device=device),
    )
