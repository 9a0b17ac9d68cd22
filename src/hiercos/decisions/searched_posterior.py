"""Probabilities over so many classes that those of all are not in memory: the likeliest ones are searched for."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hiercos.decisions.posterior import Posterior, PosteriorError
from hiercos.errors import RowName, row_name
from hiercos.taxonomy import Floats, IntArray, Taxonomy, descendant_sums, node_values

MOST_PROBABILITIES = 1 << 21  # rows times classes up to which the probabilities of all classes are made, 16 MB
MOST_PARTS = 1 << 12  # branches whose classes are all allowed, up to which a restriction is searched below them


class NodeSearch(Protocol):
    """Log-probabilities of the nodes of M samples, each found on its own."""

    def __len__(self) -> int: ...

    def rows(self, chosen: Any) -> Self:
        """The search for the chosen samples."""

    def best_classes(self, count: int, starts: IntArray | None = None, logs: Floats | None = None) -> tuple[Any, Any]:
        """The likeliest classes of each sample and their log-probabilities, two of shape (M, count), -1 where fewer.

        Args:
            count: number of classes.
            starts: V nodes to search below; the root by default.
            logs: their log-probabilities, shape (M, V).
        """

    def best_children(self, nodes: IntArray) -> IntArray:
        """The likeliest child of one node of each sample: (M,) to (M,); -1 for a class."""

    def logs(self, nodes: IntArray) -> Floats:
        """Log-probability of one node for each sample, -1 the root: (M,) to (M,)."""


class SearchedPosterior(Posterior):
    """A posterior that finds the probabilities that are asked for, each exactly.

    Those of all classes are made for a few rows at a time alone: for more than `MOST_PROBABILITIES` of them there is
    a `PosteriorError` in place of `classes`, `nodes` and `scores`.

    Args:
        search: search for the nodes of M samples.
        taxonomy: the tree.
        allowed: mask of the classes that are allowed, shape (C,); None for all.
    """

    def __init__(self, search: NodeSearch, taxonomy: Taxonomy, allowed: NDArray[np.bool_] | None = None) -> None:
        self.search, self.taxonomy, self.allowed = search, taxonomy, allowed
        self.temperature, self.restricted = None, allowed is not None
        self.energies = self.order = self.marginals = None

    @cached_property
    def scores(self) -> NDArray[np.floating]:  # type: ignore[override]  # made when they are asked for
        """Log-probability of each class, shape (M, C)."""
        with np.errstate(divide="ignore"):
            return np.log(self.classes)

    @cached_property
    def classes(self) -> Floats:
        """Probability of each class, shape (M, C)."""
        count = self.taxonomy.num_classes
        if len(self) * count > MOST_PROBABILITIES:
            raise PosteriorError(
                f"{len(self):,} rows of {count:,} classes are too many for the probabilities of all classes: expected "
                "predict or evaluate under the rule none, auto or back-off, which look for the likeliest ones"
            )
        classes, logs = self.best(count)
        found = np.zeros((len(self), count))
        rows, places = np.nonzero(classes >= 0)
        found[rows, classes[rows, places]] = np.exp(logs[rows, places])
        return found

    @property
    def logs(self) -> Floats:
        """Natural logarithm of each class's probability, shape (M, C)."""
        return np.asarray(self.scores)

    def best(self, count: int) -> tuple[IntArray, Floats]:
        """The likeliest classes of each sample and their log-probabilities, two of shape (M, count), -1 where fewer."""
        classes: IntArray
        logs: Floats
        classes, logs = self.search.best_classes(count, *(() if self.allowed is None else self._parts))
        return classes, logs

    @cached_property
    def _parts(self) -> tuple[IntArray, Floats]:
        """The branches whose classes are all allowed, and their log-probabilities, of sum 1, shape (M, V)."""
        assert self.allowed is not None
        parts = _whole_branches(self.allowed, self.taxonomy)
        if len(parts) > MOST_PARTS:
            raise PosteriorError(f"expected at most {MOST_PARTS:,} branches of allowed classes, got {len(parts):,}")
        logs = np.stack([self.search.logs(np.full(len(self), node)) for node in parts.tolist()], axis=1)
        return parts, logs - np.logaddexp.reduce(logs, axis=1)[:, None]

    def _part_shares(self, nodes: IntArray) -> tuple[Floats, IntArray]:
        """Probability of each branch below one node of each sample, and the child of the node above it, (M, V) each."""
        parts, logs = self._parts
        paths = np.column_stack([np.full(len(parts), -1), self.taxonomy.path_table(parts), np.full(len(parts), -1)])
        depths = np.where(nodes < 0, 0, self.taxonomy.depths[nodes])
        is_below = paths.T[depths] == nodes[:, None]
        return np.where(is_below, np.exp(logs), 0.0), paths.T[depths + 1]

    def of_nodes(self, nodes: IntArray) -> Floats:
        """See `Posterior`."""
        if self.allowed is None:
            return np.exp(self.search.logs(nodes))
        parts, logs = self._parts
        found: Floats = self._part_shares(nodes)[0].sum(axis=1)
        paths = self.taxonomy.path_table(nodes)
        own = np.where(np.isin(paths, parts), paths, -1).max(axis=1)  # branch that the node is in
        rows = np.flatnonzero((own >= 0) & (own != nodes))
        places, search = np.searchsorted(parts, own[rows]), self.search.rows(rows)
        found[rows] = np.exp(logs[rows, places] + search.logs(nodes[rows]) - search.logs(own[rows]))
        return np.minimum(found, 1.0)

    def of_classes(self, classes: IntArray) -> Floats:
        """See `Posterior`."""
        leaves = np.append(self.taxonomy.leaves, -1)
        columns = [np.where(each < 0, 0.0, self.of_nodes(leaves[each])) for each in classes.T]
        return np.stack(columns, axis=1)

    def best_child(self, nodes: IntArray) -> IntArray:
        """See `Posterior`."""
        if self.allowed is None:
            return self.search.best_children(nodes)
        found = self.search.best_children(nodes)  # where all below is allowed
        shares, children = self._part_shares(nodes)
        for row in np.flatnonzero((shares > 0).any(axis=1) & (children >= 0).any(axis=1)):
            known, places = np.unique(children[row], return_inverse=True)
            sums = np.bincount(places, shares[row])
            if known[sums.argmax()] >= 0:
                found[row] = known[sums.argmax()]
        return found

    def rows(self, chosen: slice | Sequence[int] | IntArray) -> "SearchedPosterior":
        """Posterior of the chosen samples."""
        return SearchedPosterior(self.search.rows(chosen), self.taxonomy, self.allowed)

    def reweighted(self, weights: ArrayLike, *, row_name: RowName = row_name) -> Posterior:  # noqa: ARG002  # no row fails
        """The posterior over the allowed classes; other weights are refused. See `Posterior`."""
        mask = np.asarray(weights)
        if mask.dtype != bool or mask.ndim != 1:
            count = self.taxonomy.num_classes
            raise PosteriorError(f"{count:,} classes: expected the same allowed classes for all rows, and no weights")
        return SearchedPosterior(self.search, self.taxonomy, mask if self.allowed is None else mask & self.allowed)

    def __len__(self) -> int:
        return len(self.search)


def _whole_branches(allowed: NDArray[np.bool_], taxonomy: Taxonomy) -> IntArray:
    """The highest nodes all of whose classes are allowed, in order."""
    counts = descendant_sums(node_values(np.stack([allowed, np.ones_like(allowed)]), taxonomy), taxonomy)
    whole = counts[0] == counts[1]
    parents = taxonomy.parents
    return np.flatnonzero(whole & ~np.append(whole, False)[parents])
