"""Chains of likeliest children, and the held-out samples that back-off is calibrated on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray, ancestor_matrix, best_children, best_parents, is_at_or_above


@dataclass(frozen=True, eq=False)
class Chains:
    """The way from the root always to the likeliest child, for each of M samples.

    In a graph this way finds the leaf, and the chain climbs from there, always to the likeliest parent.
    """

    nodes: IntArray  # nodes from one just under the root down to a leaf, shape (M, H), -1 beyond it
    probabilities: Floats  # probability of each of these nodes, shape (M, H), falling, 0 beyond the leaf

    @property
    def lengths(self) -> IntArray:
        """Number of nodes of each chain, shape (M,)."""
        lengths: IntArray = (self.nodes >= 0).sum(axis=1)
        return lengths

    @property
    def is_inner(self) -> NDArray[np.bool_]:
        """Whether each entry is a node above the leaf, shape (M, H)."""
        inner: NDArray[np.bool_] = np.arange(1, self.nodes.shape[1] + 1) < self.lengths[:, None]
        return inner

    def deepest(self, chosen: NDArray[np.bool_]) -> IntArray:
        """Number of steps from the root to the deepest chosen node, (M, H) to (M,); 0 if none is chosen."""
        steps: IntArray = np.where(chosen, np.arange(1, chosen.shape[1] + 1), 0).max(axis=1)
        return steps

    def down_to(self, counts: IntArray) -> IntArray:
        """The node after so many steps from the root, (M,) to (M,); -1 for none, at most the leaf."""
        steps = np.minimum(counts, self.lengths)
        found = np.take_along_axis(self.nodes, np.maximum(steps - 1, 0)[:, None], axis=1)[:, 0]
        return np.where(steps > 0, found, -1)


def likeliest_chains(posterior: Posterior) -> Chains:
    """The chain of each sample; the lower node among equally likely children or parents."""
    nodes = np.full((len(posterior), posterior.taxonomy.height), -1)
    current, going = nodes[:, -1], np.ones(len(posterior), dtype=bool)
    for level in range(posterior.taxonomy.height):
        nodes[:, level] = np.where(going, posterior.best_child(current), -1)
        current, going = nodes[:, level], nodes[:, level] >= 0
    if not posterior.taxonomy.is_tree:
        nodes = _climbed(nodes.max(axis=1), posterior)  # children have higher numbers than their parents
    probabilities = np.stack([np.where(each < 0, 0.0, posterior.of_nodes(each)) for each in nodes.T], axis=1)
    return Chains(nodes, np.minimum.accumulate(probabilities, axis=1))


def _climbed(nodes: IntArray, posterior: Posterior) -> IntArray:
    """Chains from the root to the given nodes that were climbed from below, (M,) to (M, H), -1 beyond the node."""
    parents, rows = best_parents(posterior.nodes, posterior.taxonomy), np.arange(len(nodes))
    height = posterior.taxonomy.height
    steps = np.full((len(nodes), height), -1)  # from the node upwards
    for step in range(height):
        steps[:, step] = nodes
        nodes = np.where(nodes >= 0, parents[rows, nodes], -1)
    lengths = (steps >= 0).sum(axis=1)[:, None]
    places = lengths - 1 - np.arange(height)  # of each node of the chain among the steps
    return np.where(places >= 0, np.take_along_axis(steps, np.maximum(places, 0), axis=1), -1)


def rival_probabilities(posterior: Posterior, chains: Chains) -> Floats:
    """Highest probability of a node that is neither above nor below each node of a chain, shape (M, H); 0 without one.

    In a tree these are the siblings of the node and of its ancestors.
    """
    if not posterior.taxonomy.is_tree:
        return _graph_rivals(posterior, chains)
    others, taxonomy = posterior.nodes.copy(), posterior.taxonomy
    rows, levels = np.nonzero(chains.nodes >= 0)
    others[rows, chains.nodes[rows, levels]] = 0.0
    following = best_children(others, taxonomy)
    parents = np.concatenate([np.full((len(posterior), 1), -1), chains.nodes[:, :-1]], axis=1)
    rivals = np.zeros(chains.nodes.shape)
    rivals[rows, levels] = others[rows, following[rows, parents[rows, levels]]]
    return np.maximum.accumulate(rivals, axis=1)


def _graph_rivals(posterior: Posterior, chains: Chains) -> Floats:
    """`rival_probabilities` in a graph, from the sets of ancestors and descendants of each node."""
    above = ancestor_matrix(posterior.taxonomy)
    related = (above + above.T).tocsr()  # (N, N)
    rivals = np.zeros(chains.nodes.shape)
    for place, nodes in enumerate(chains.nodes.T):
        rows = np.flatnonzero(nodes >= 0)
        others = np.where(related[nodes[rows]].toarray() > 0, 0.0, posterior.nodes[rows])
        rivals[rows, place] = others.max(axis=1, initial=0.0)
    return rivals


@dataclass(frozen=True)
class HeldOutChains:
    """The chains of held-out samples as far as back-off needs them, to choose a threshold for any target."""

    first: tuple[float, ...]  # probability of the first node of each chain, n numbers
    # for each sample the probabilities of the wrong nodes of its chain, the shallowest first; empty where the leaf is
    # right
    wrong: tuple[tuple[float, ...], ...]
    height: int  # height H of the tree, the largest number of wrong nodes
    # whether new samples may be exchangeable with these; False where other models than the final one scored them: then
    # no guarantee holds
    exchangeable: bool = True
    # samples labelled above a class, as positions from 0. Nothing is known below such a label, so nodes there stand in
    # `wrong`
    coarse: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.first)

    def of_classes(self) -> "HeldOutChains":
        """The chains of the samples labelled with a class."""
        kept = np.setdiff1d(np.arange(len(self)), self.coarse).tolist()
        first, wrong = tuple(self.first[row] for row in kept), tuple(self.wrong[row] for row in kept)
        return replace(self, first=first, wrong=wrong, coarse=())

    @property
    def scores(self) -> Floats:
        """Calibration scores: probability of the shallowest wrong node, 0 where the leaf is right, shape (n,)."""
        return np.array([chain[0] if chain else 0.0 for chain in self.wrong])

    def overshoots(self, threshold: float) -> IntArray:
        """Number of wrong nodes that each sample's chain has above a threshold, shape (n,)."""
        found: IntArray = (self._wrong_rows >= threshold).sum(axis=1)
        return found

    @cached_property
    def _wrong_rows(self) -> Floats:
        """The probabilities of the wrong nodes as an array, shape (n, most of a sample); -inf where there are fewer."""
        rows = np.full((len(self), max(map(len, self.wrong), default=0)), -np.inf)
        for row, chain in zip(rows, self.wrong, strict=True):
            row[: len(chain)] = chain
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The chains as JSON values, which `from_dict` reads back."""
        return {
            "first": list(self.first),
            "wrong": [list(chain) for chain in self.wrong],
            "height": self.height,
            "exchangeable": self.exchangeable,
            "coarse": list(self.coarse),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "HeldOutChains":
        """Chains from the JSON values of `to_dict`.

        Raises:
            ValueError: for values that are not chains.
        """
        try:
            first = tuple(map(float, values["first"]))
            wrong = tuple(tuple(map(float, chain)) for chain in values["wrong"])
            height = int(values["height"])
            coarse = tuple(map(int, values.get("coarse", ())))
        except (KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"not calibration samples ({error})") from error
        if len(first) != len(wrong):
            raise ValueError(f"expected as many chains as first nodes, got {len(wrong)} and {len(first)}")
        return cls(first, wrong, height, bool(values.get("exchangeable", True)), coarse)


def held_out_chains(posterior: Posterior, labels: IntArray, *, exchangeable: bool = True) -> HeldOutChains:
    """The chains of labelled samples.

    A node of the chain is right if it is the label or above it.

    Args:
        posterior: probabilities of n samples that were used for nothing else.
        labels: true node of each sample, shape (n,).
        exchangeable: see `HeldOutChains`.
    """
    first: list[float] = []
    wrong: list[tuple[float, ...]] = []
    start = 0
    for batch in posterior.batches():
        chains, own = likeliest_chains(batch), labels[start : start + len(batch)]
        start += len(batch)
        is_wrong = (chains.nodes >= 0) & ~is_at_or_above(chains.nodes, own, posterior.taxonomy)
        first += chains.probabilities[:, 0].tolist()
        wrong += [tuple(values[mask].tolist()) for values, mask in zip(chains.probabilities, is_wrong, strict=True)]
    coarse = tuple(np.flatnonzero(posterior.taxonomy.classes_of(labels) < 0).tolist())
    return HeldOutChains(tuple(first), tuple(wrong), posterior.taxonomy.height, exchangeable, coarse)
