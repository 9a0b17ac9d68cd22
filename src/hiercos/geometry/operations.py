"""Sums, log-sums and maxima over the ancestors and over the descendants of nodes, on torch tensors.

`hiercos.taxonomy` has the same operations on NumPy arrays.
"""

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from hiercos.geometry.frames import checked_embeddings
from hiercos.taxonomy import Taxonomy, TaxonomyError


# Slots: a compiler cannot guard the attributes of a constant that has a __dict__.
@dataclass(frozen=True, slots=True, weakref_slot=True)
class NodeOperations(ABC):
    """Operations on the nodes of a taxonomy, computed for each sample separately.

    A node counts among its own ancestors and among its own descendants.
    """

    num_nodes: int  # number of nodes N
    leaves: Tensor  # node of each class, shape (C,)
    nodes_of_labels: Tensor  # node of each label, shape (C + N,): the leaves, then every node

    def class_values(self, values: Tensor) -> Tensor:
        """Values of the leaves in class order: (B, N) to (B, C)."""
        return values.index_select(1, self.leaves)

    def node_values(self, values: Tensor, *, empty: float = 0.0) -> Tensor:
        """Class values (B, C) as node values (B, N), `empty` at inner nodes."""
        return values.new_full((values.shape[0], self.num_nodes), empty).index_copy(1, self.leaves, values)

    def strictly_below(self, nodes: Tensor) -> Tensor:
        """Mask of the nodes strictly below one node for each sample: (B,) to (B, N)."""
        own = torch.zeros(len(nodes), self.num_nodes, device=nodes.device).scatter(1, nodes[:, None], 1)
        return self.ancestor_sums(own) > own

    def related(self, nodes: Tensor) -> Tensor:
        """Mask of the ancestors and descendants of one node for each sample, itself included: (B,) to (B, N)."""
        own = torch.zeros(len(nodes), self.num_nodes, device=nodes.device).scatter(1, nodes[:, None], 1)
        return (self.ancestor_sums(own) + self.descendant_sums(own)) > 0

    @abstractmethod
    def ancestor_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of every node's ancestors: (B, N) to (B, N)."""

    @abstractmethod
    def descendant_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of every node's descendants: (B, N) to (B, N)."""

    @abstractmethod
    def descendant_maxima(self, values: Tensor) -> Tensor:
        """Largest value among every node's descendants: (B, N) to (B, N)."""

    @abstractmethod
    def descendant_logsumexp(self, values: Tensor) -> Tensor:
        """Log-sum-exp of the values of every node's descendants: (B, N) to (B, N); values may be -inf."""

    @abstractmethod
    def unrelated_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of the nodes that are neither ancestors nor descendants of each node.

        Computed in float64, and exactly 0 where all those values are 0, however large the others.

        Args:
            values: one value >= 0 per node, shape (B, N).

        Returns:
            Sums >= 0, shape (B, N), float64.
        """

    @abstractmethod
    def sibling_log_softmax(self, values: Tensor) -> Tensor:
        """Log-softmax among the children of each parent: finite values (B, N) to (B, N)."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TreePasses(NodeOperations):
    """The operations on a tree, each one pass over the levels, O(N) per sample.

    Nodes are numbered level by level, so a level is a slice of columns, and the result of a node follows from that of
    its parent (or its children). No matrix of pairs is ever built. Sizes are Python integers, so that no call waits
    for a device.
    """

    sizes: tuple[int, ...]  # number of nodes of each level, level 1 first
    # position of each node's parent within the level above, one tensor of shape (K_level,) for each level from
    # level 2
    parents: tuple[Tensor, ...]

    def ancestor_sums(self, values: Tensor) -> Tensor:
        """See `NodeOperations`."""
        levels = values.split_with_sizes(self.sizes, dim=1)
        sums = [levels[0]]
        for own, parents in zip(levels[1:], self.parents, strict=True):
            sums.append(own + sums[-1].index_select(1, parents))  # (B, K_level)
        return torch.cat(sums, dim=1)

    def descendant_sums(self, values: Tensor) -> Tensor:
        """See `NodeOperations`."""
        return self._upwards(values, lambda own, parents, children: own.index_add(1, parents, children))

    def descendant_maxima(self, values: Tensor) -> Tensor:
        """See `NodeOperations`."""
        return self._upwards(values, _maxima_with_children)

    def descendant_logsumexp(self, values: Tensor) -> Tensor:
        """See `NodeOperations`."""
        return self._upwards(values, _logsumexp_with_children)

    def _upwards(self, values: Tensor, merge: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
        """Merge the results of each level into the values of its parents, deepest level first; (B, N) to (B, N)."""
        levels = values.split_with_sizes(self.sizes, dim=1)
        merged = [levels[-1]]
        for own, parents in zip(reversed(levels[:-1]), reversed(self.parents), strict=True):
            merged.append(merge(own, parents, merged[-1]))  # (B, K_level)
        return torch.cat(merged[::-1], dim=1)

    def unrelated_sums(self, values: Tensor) -> Tensor:
        """See `NodeOperations`: the unrelated nodes are the subtrees of the siblings of a node and its ancestors."""
        return self.ancestor_sums(self._sibling_sums(self.descendant_sums(values.double())))

    def _sibling_sums(self, values: Tensor) -> Tensor:
        """Sum of the values of every node's siblings, itself excluded: values >= 0 in float64, (B, N) to (B, N).

        Computed as the sum of all siblings minus the node's own value. Next to a large own value, small values of the
        siblings would be lost in float32; float64 loses only values below 1e-16 of it. The sum is exactly 0 where the
        siblings' values are 0, since adding zeros does not round.
        """
        first, *deeper = values.split_with_sizes(self.sizes, dim=1)
        sums = [first.sum(dim=1, keepdim=True) - first]
        for own, parents, size in zip(deeper, self.parents, self.sizes[:-1], strict=True):
            families = own.new_zeros(own.shape[0], size).index_add(1, parents, own)  # (B, K_level_above)
            sums.append(families.index_select(1, parents) - own)  # (B, K_level)
        return torch.cat(sums, dim=1)

    def sibling_log_softmax(self, values: Tensor) -> Tensor:
        """See `NodeOperations`. The maximum among siblings is subtracted first, for numerical stability."""
        first, *deeper = values.split_with_sizes(self.sizes, dim=1)
        logs = [F.log_softmax(first, dim=1)]
        for own, parents, size in zip(deeper, self.parents, self.sizes[:-1], strict=True):
            empty = own.new_full((own.shape[0], size), -torch.inf)
            peak, rest = _family_logsumexp(empty, parents, own)
            logs.append(own - peak.index_select(1, parents) - rest.index_select(1, parents))  # (B, K_level)
        return torch.cat(logs, dim=1)


def _maxima_with_children(own: Tensor, parents: Tensor, children: Tensor) -> Tensor:
    empty = torch.full_like(own, -torch.inf)
    return own.maximum(empty.scatter_reduce(1, parents.expand_as(children), children, "amax"))


def _logsumexp_with_children(own: Tensor, parents: Tensor, children: Tensor) -> Tensor:
    peak, rest = _family_logsumexp(own, parents, children)
    return peak + rest


def _family_logsumexp(own: Tensor, parents: Tensor, children: Tensor) -> tuple[Tensor, Tensor]:
    """Log-sum-exp of each node and its children, as two parts to be added.

    Every family (a node and its children) is shifted by its own maximum, for numerical stability. Subtracting the two
    parts one after the other rounds less than subtracting their sum.

    Args:
        own: values of the nodes of a level, shape (B, K), -inf for none.
        parents: position of each child's parent within that level, shape (K_below,).
        children: values of the nodes of the level below, shape (B, K_below).

    Returns:
        The maximum of each family, without gradient and 0 where all are -inf, and the log of the sum relative to
        it; shape (B, K) each.
    """
    peak = _maxima_with_children(own.detach(), parents, children.detach())
    peak = peak.masked_fill(peak == -torch.inf, 0)
    shifted = (children - peak.index_select(1, parents)).exp()  # (B, K_below)
    return peak, (own - peak).exp().index_add(1, parents, shifted).log()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SparseSums(NodeOperations):
    """The operations on a graph: sparse products with the sets of ancestors, O(N + ancestor pairs) per sample."""

    above: Tensor  # sparse matrix of shape (N, N), 1 for each node's ancestors and itself
    below: Tensor  # its transpose
    edges: Tensor  # parent and child of each edge, shape (2, E), those of the deepest children first
    level_edges: tuple[int, ...]  # number of edges to the children of each level, the deepest level first

    def ancestor_sums(self, values: Tensor) -> Tensor:
        """See `NodeOperations`."""
        return _sparse_sums(self.above, values)

    def descendant_sums(self, values: Tensor) -> Tensor:
        """See `NodeOperations`."""
        return _sparse_sums(self.below, values)

    def descendant_maxima(self, values: Tensor) -> Tensor:
        """See `NodeOperations`. Along the edges, the deepest first, so that a child is finished before its parents."""
        for parents, children in (edges.unbind() for edges in self.edges.split_with_sizes(self.level_edges, dim=1)):
            below = values.index_select(1, children)
            values = values.scatter_reduce(1, parents.expand_as(below), below, "amax")
        return values

    def descendant_logsumexp(self, values: Tensor) -> Tensor:
        """See `NodeOperations`.

        Summed in float64 relative to each sample's maximum. Where a sum is too small even for that, more than about
        700 below the maximum, the result is the largest of its values: too small by at most the log of their number.
        """
        peak = values.detach().amax(dim=1, keepdim=True)
        peak = peak.masked_fill(peak == -torch.inf, 0)
        sums = self.descendant_sums((values - peak).double().exp())
        tiny = sums < LEAST_SUM
        logs = sums.masked_fill(tiny, 1).log().to(values.dtype) + peak
        return torch.where(tiny, self.descendant_maxima(values), logs) if bool(tiny.any()) else logs

    def unrelated_sums(self, values: Tensor) -> Tensor:
        """See `NodeOperations`: all values less the related ones; 0 where no unrelated value is above 0."""
        values = values.double()
        is_positive = (values > 0).double()
        left = self._without_related(is_positive) > 0.5
        return self._without_related(values).clamp(min=0).where(left, 0)

    def _without_related(self, values: Tensor) -> Tensor:
        related = self.ancestor_sums(values) + self.descendant_sums(values) - values
        return values.sum(dim=1, keepdim=True) - related

    def sibling_log_softmax(self, values: Tensor) -> Tensor:  # noqa: ARG002  # never computed
        """Not defined: a node of a graph may have siblings under several parents."""
        raise TaxonomyError("a softmax among siblings needs a tree, got a graph in which nodes have several parents")


LEAST_SUM = 1e-290  # smallest sum of exponentials in float64 whose logarithm is exact


def _sparse_sums(matrix: Tensor, values: Tensor) -> Tensor:
    """Sums of the values of each node's row of a sparse matrix: (B, N) to (B, N)."""
    sums: Tensor = torch.sparse.mm(matrix.to(values.dtype), values.T)  # (N, B)
    return sums.T.contiguous()


_operations: "weakref.WeakKeyDictionary[Taxonomy, dict[torch.device, NodeOperations]]" = weakref.WeakKeyDictionary()


def tree_operations(taxonomy: Taxonomy, device: torch.device) -> NodeOperations:
    """Operations of a taxonomy on a device; their index tensors are cached as long as the taxonomy lives."""
    by_device = _operations.setdefault(taxonomy, {})
    if device in by_device:
        return by_device[device]
    with torch.inference_mode(False):  # tensors created in inference mode could not be used in a later backward pass
        operations = _tree_passes(taxonomy, device) if taxonomy.is_tree else _sparse_operations(taxonomy, device)
    if type(operations.leaves) is Tensor:  # the tensors of a tracer are of another type and must not be cached
        by_device[device] = operations
    return operations


# torch.compile calls it once and keeps the tensors as constants of its graph. This is all that
# torch.compiler.assume_constant_result does, which would import the compiler (about a second) on every import.
tree_operations._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _tree_passes(taxonomy: Taxonomy, device: torch.device) -> TreePasses:
    starts = taxonomy.level_starts
    parents = torch.tensor(taxonomy.parents, device=device)
    leaves = torch.tensor(taxonomy.leaves, device=device)
    return TreePasses(
        num_nodes=taxonomy.num_nodes,
        leaves=leaves,
        nodes_of_labels=torch.cat([leaves, torch.arange(taxonomy.num_nodes, device=device)]),
        sizes=tuple(int(end - start) for start, end in pairwise(starts)),
        parents=tuple(
            parents[starts[level] : starts[level + 1]] - int(starts[level - 1]) for level in range(1, taxonomy.height)
        ),
    )


def _sparse_operations(taxonomy: Taxonomy, device: torch.device) -> NodeOperations:
    nodes = taxonomy.ancestors.nodes
    owners, above = torch.tensor(taxonomy.ancestors.owners, device=device), torch.tensor(nodes, device=device)
    size, ones = (taxonomy.num_nodes, taxonomy.num_nodes), torch.ones(len(nodes), device=device)
    leaves = torch.tensor(taxonomy.leaves, device=device)
    parents = taxonomy.parent_lists
    order = np.argsort(-taxonomy.depths[parents.owners], kind="stable")
    sizes = np.bincount(taxonomy.depths[parents.owners], minlength=taxonomy.height + 1)[:1:-1]
    return SparseSums(
        num_nodes=taxonomy.num_nodes,
        leaves=leaves,
        nodes_of_labels=torch.cat([leaves, torch.arange(taxonomy.num_nodes, device=device)]),
        above=torch.sparse_coo_tensor(torch.stack([owners, above]), ones, size, check_invariants=False).coalesce(),
        below=torch.sparse_coo_tensor(torch.stack([above, owners]), ones, size, check_invariants=False).coalesce(),
        edges=torch.tensor(np.stack([parents.nodes[order], parents.owners[order]]), device=device),
        level_edges=tuple(int(each) for each in sizes),
    )


def class_path_sums(values: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Sum of the values on the path of every class: its ancestors and itself.

    Args:
        values: one value per node, shape (B, N).
        taxonomy: the tree.

    Returns:
        Sums, shape (B, C), in float32 where the values come in half precision.

    Raises:
        ValueError: for another shape.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> class_path_sums(torch.tensor([[1.0, 10.0, 0.2, 0.3, 0.4]]), t)
        tensor([[ 1.2000,  1.3000, 10.4000]])
    """
    operations = tree_operations(taxonomy, values.device)
    return operations.class_values(operations.ancestor_sums(checked_embeddings(values, taxonomy.num_nodes)))


def node_probabilities(probabilities: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Probability of every node: the sum over the classes at or below it.

    Args:
        probabilities: class probabilities, shape (B, C).
        taxonomy: the tree.

    Returns:
        Node probabilities, shape (B, N); those of a level sum to at most 1.

    Raises:
        ValueError: for another shape.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> node_probabilities(torch.tensor([[0.5, 0.25, 0.25]]), t)
        tensor([[0.7500, 0.2500, 0.5000, 0.2500, 0.2500]])
    """
    if probabilities.ndim != 2 or probabilities.shape[1] != taxonomy.num_classes:
        raise ValueError(
            f"expected probabilities of shape (B, {taxonomy.num_classes}), got {tuple(probabilities.shape)}"
        )
    operations = tree_operations(taxonomy, probabilities.device)
    return operations.descendant_sums(operations.node_values(probabilities))
