"""Preference ranks and distances between classes, cached per taxonomy and device for the metrics.

Everything is derived from the paths of the classes: two classes share as many ancestors as their paths have equal
levels. In a graph the shared ancestors are counted as sets, and there are no paths. The preferred order of the classes
comes from `taxonomy.preferences`.
Up to `MOST_TABULATED` classes the preference ranks of all pairs are cached as small integers; with more classes they
are computed for the requested pairs or rows, and no C x C table is built.
"""

import weakref
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hiercos.taxonomy import (
    FloatArray,
    IntArray,
    Tail,
    Taxonomy,
    ancestor_matrix,
    decay_weights,
    distance_block,
    distance_counts,
    distance_ranks,
    nodes_of_labels,
    ordered_by_rank,
    pair_distances,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)

MOST_TABULATED = 5_000  # largest number of classes whose pairwise ranks are cached: 25 MB of int8
CHUNK = 1 << 22  # scores per chunk of rows: their order takes 32 MB


def row_chunks(rows: int, width: int) -> Iterator[slice]:
    """Slices of consecutive rows of `width` entries, each of at most `CHUNK` entries; one empty slice for no rows."""
    step = max(1, CHUNK // width)
    for start in range(0, max(1, rows), step):
        yield slice(start, min(rows, start + step))


class RankTables:
    """Preference ranks and distances between the classes of one taxonomy, on one device.

    All tensors are created outside inference mode, so that they can be used anywhere later.

    Attributes:
        num_classes: number of classes C.
        height: height H of the tree, in a graph the largest number of ancestors of a class.
        paths: nodes of each class's path, shape (C, H), -1 beyond its depth; trees only.
        levels: `paths` transposed, shape (H, C); trees only.
        depths: number of ancestors of each class, itself included, shape (C,): its depth in a tree.
        profiles: number of classes at each rank, one row per distinct rank profile, an array of shape (P, H + 1).
        profile_of: index of each class's rank profile, shape (C,).
        rank_of_distance: dense rank of each distance from each class, shape (C, H + 1).
        distance_of_rank: distance of each rank from each class, shape (C, H + 1); 0 beyond a class's last rank.
    """

    profiles: IntArray

    def __init__(self, taxonomy: Taxonomy, device: torch.device) -> None:
        self._taxonomy = weakref.ref(taxonomy)
        self.num_classes, self.height, self.device = taxonomy.num_classes, taxonomy.most_ancestors, device
        self.is_tree = taxonomy.is_tree
        self._cache: dict[tuple[str | int, ...], tuple[Tensor, ...]] = {}
        small = np.int8 if self.height < 127 else np.int16
        counts = distance_counts(taxonomy, np.arange(self.num_classes))  # (C, H + 1)
        distances = ordered_by_rank(counts, np.broadcast_to(np.arange(self.height + 1), counts.shape))
        self.profiles, profile_of = np.unique(rank_profiles(counts), axis=0, return_inverse=True)
        if self.is_tree:
            self.paths = torch.from_numpy(taxonomy.path_table(taxonomy.leaves).astype(np.int32)).to(device)
            self.levels = self.paths.t().contiguous()
        self.depths = torch.from_numpy(taxonomy.ancestor_counts[taxonomy.leaves]).to(device)
        self.profile_of = torch.from_numpy(profile_of.reshape(-1)).to(device)
        self.rank_of_distance = torch.from_numpy(distance_ranks(counts).astype(small)).to(device)
        self.distance_of_rank = torch.from_numpy(distances.astype(small)).to(device)

    def cached(self, key: tuple[str | int, ...], compute: Callable[[], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        """Tensors that a metric derives from the tables, computed at the first call with a key."""
        if key not in self._cache:
            with torch.inference_mode(False):
                self._cache[key] = compute()
        return self._cache[key]

    def profile_values(
        self, labels: Tensor, key: tuple[str | int, ...], values: Callable[[IntArray], FloatArray]
    ) -> Tensor:
        """One number for the rank profile of each label, cached by profile.

        Args:
            labels: true class of each sample, shape (B,).
            values: function from rank profiles to their numbers: (U, H + 1) -> (U,).

        Returns:
            Shape (B,), float64.
        """
        count = len(self.profiles)
        (known,) = self.cached(key, lambda: (torch.full((count,), torch.nan, dtype=torch.float64, device=self.device),))
        profiles = self.profile_of[labels]
        new = torch.unique(profiles[known[profiles].isnan()])
        if len(new):
            known[new] = torch.from_numpy(values(self.profiles[new.cpu().numpy()])).to(known.device)
        return known[profiles]

    @property
    def caches_orders(self) -> bool:
        """Whether the preferred orders of all rank profiles, (P, C) numbers, are small enough to cache."""
        return self.tabulated and len(self.profiles) * self.num_classes <= 4 * CHUNK

    @property
    def tabulated(self) -> bool:
        """Whether the number of classes is small enough to cache the ranks of all pairs."""
        return self.num_classes <= MOST_TABULATED

    @cached_property
    def rank_table(self) -> Tensor:
        """Preference ranks of all pairs, shape (C, C); only if `tabulated`."""
        parts = row_chunks(self.num_classes, self.num_classes)
        with torch.inference_mode(False):
            classes = torch.arange(self.num_classes, device=self.device)
            return torch.cat([self._computed_ranks(classes[rows]) for rows in parts])

    def rank_rows(self, labels: Tensor) -> Tensor:
        """Preference rank of every class for each label, shape (B, C)."""
        return self.rank_table[labels] if self.tabulated else self._computed_ranks(labels)

    def ranks(self, labels: Tensor, classes: Tensor) -> Tensor:
        """Preference ranks of K classes for each label: (B,) and (B, K) -> (B, K)."""
        if 4 * classes.shape[1] > self.num_classes:
            return self.rank_rows(labels).gather(1, classes)
        if self.tabulated:
            return self.rank_table[labels[:, None], classes]
        return self.rank_of_distance[labels].gather(1, self.distances(labels, classes).long())

    def distances(self, labels: Tensor, classes: Tensor) -> Tensor:
        """Distances of each label to K classes: (B,) and (B, K) -> (B, K)."""
        if not self.is_tree:
            pairs = pair_distances(self.taxonomy, labels.cpu().numpy()[:, None], classes.cpu().numpy())
            return torch.from_numpy(pairs.astype(np.int16)).to(classes.device)
        own = self._own_path(labels)
        shared = torch.zeros(classes.shape, dtype=torch.int16, device=classes.device)
        for level in range(self.height):
            shared += self.paths[classes, level] == own[:, level, None]
        return (self.height - shared).masked_fill_(classes == labels[:, None], 0)

    @cached_property
    def label_paths(self) -> Tensor:
        """Nodes of each label's path, shape (C + N + 1, H), -1 beyond its depth: classes, then nodes, then the root."""
        with torch.inference_mode(False):
            paths = self.taxonomy.path_table(np.arange(self.taxonomy.num_nodes)).astype(np.int32)
            nodes, root = (
                torch.from_numpy(each).to(self.paths.device) for each in (paths, np.full_like(paths[:1], -1))
            )
            return torch.cat([self.paths, nodes, root])

    def paths_of(self, labels: Tensor) -> Tensor:
        """Nodes of the paths of labels of any depth, shape (B, H), -1 beyond their depth."""
        only_classes = not len(labels) or int(labels.max()) < self.num_classes
        return self.paths[labels] if only_classes else self.label_paths[labels]

    def classes_below(self, labels: Tensor) -> Tensor:
        """Mask of the classes at or below labels of any depth: (B,) -> (B, C); all for the root."""
        if not self.is_tree:
            nodes = nodes_of_labels(labels.cpu().numpy(), self.taxonomy)
            below = ancestor_matrix(self.taxonomy)[self.taxonomy.leaves][:, nodes].toarray().T > 0
            return torch.from_numpy(below | (nodes < 0)[:, None]).to(labels.device)
        own = self.paths_of(labels)  # (B, H)
        last = (own >= 0).sum(dim=1)  # depth of each label, 0 for the root
        node = own.gather(1, (last - 1).clamp(min=0)[:, None])
        return (self.levels[(last - 1).clamp(min=0)] == node) | (last == 0)[:, None]

    def _own_path(self, labels: Tensor) -> Tensor:
        """Paths of the labels, shape (B, H), with -2 beyond their depth, which never occurs in `paths`."""
        own = self.paths[labels]
        return own.masked_fill_(own < 0, -2)

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the tables, which live as long as it."""
        taxonomy = self._taxonomy()
        assert taxonomy is not None
        return taxonomy

    def _computed_ranks(self, labels: Tensor) -> Tensor:
        """Preference rank of every class for each label, shape (B, C)."""
        if self.is_tree:
            return self._ranks_by_path(labels)
        distances = torch.from_numpy(distance_block(self.taxonomy, labels.cpu().numpy())).to(labels.device)
        return self.rank_of_distance[labels].gather(1, distances)

    def _ranks_by_path(self, labels: Tensor) -> Tensor:
        """Preference rank of every class, shape (B, C), lowered level by level along the shared path."""
        ranks = self.rank_of_distance[labels]  # (B, H + 1)
        own = self._own_path(labels)
        block = ranks[:, -1:].repeat(1, self.num_classes)
        for level in range(self.height):
            nearer = ranks[:, self.height - level] - ranks[:, self.height - level - 1]
            block -= (self.levels[level] == own[:, level, None]) * nearer[:, None]
        return block.scatter_(1, labels[:, None], 0)


_tables: "weakref.WeakKeyDictionary[Taxonomy, dict[torch.device, RankTables]]" = weakref.WeakKeyDictionary()


def rank_tables(taxonomy: Taxonomy, device: torch.device) -> RankTables:
    """Tables of a taxonomy on a device, built at the first call."""
    on_devices = _tables.setdefault(taxonomy, {})
    if device not in on_devices:
        with torch.inference_mode(False):  # tensors created in inference mode could not be used outside it
            on_devices[device] = RankTables(taxonomy, device)
    return on_devices[device]


def ranks_and_weights(profiles: IntArray, k: int, tail: Tail) -> tuple[IntArray, FloatArray]:
    """Ranks z and weights η of the first k positions in preferred order: (U, R) counts per rank -> two (U, k)."""
    ranks = preferred_ranks(profiles, k)
    return ranks, decay_weights(profiles, ranks, tail)


def preferred_order(tables: RankTables, labels: Tensor, k: int, tail: Tail) -> tuple[Tensor, Tensor]:
    """Ranks (small integers) and weights (float64) of the first k positions in preferred order, two (B, k)."""
    profiles = tables.profile_of[labels]
    if not tables.caches_orders:
        return _as_tensors(tables, tables.profiles[profiles.cpu().numpy()], k, tail)
    ranks, weights = tables.cached(("order", tail), lambda: _all_orders(tables, tail))
    return ranks[profiles, :k], weights[profiles, :k]


def _all_orders(tables: RankTables, tail: Tail) -> tuple[Tensor, Tensor]:
    """Ranks and weights in preferred order for every rank profile, two (P, C)."""
    count = tables.num_classes
    parts = [
        _as_tensors(tables, tables.profiles[rows], count, tail) for rows in row_chunks(len(tables.profiles), count)
    ]
    ranks, weights = zip(*parts, strict=True)
    return torch.cat(ranks), torch.cat(weights)


def _as_tensors(tables: RankTables, profiles: IntArray, k: int, tail: Tail) -> tuple[Tensor, Tensor]:
    ranks, weights = ranks_and_weights(profiles, k, tail)
    like = tables.rank_of_distance
    return torch.from_numpy(ranks).to(like.device, like.dtype), torch.from_numpy(weights).to(like.device)


def disorder_of_reverse(tables: RankTables, labels: Tensor, k: int, tail: Tail) -> Tensor:
    """Weighted disorder of the preferred order with its first k positions reversed, shape (B,)."""

    def of_profiles(profiles: IntArray) -> FloatArray:
        parts = row_chunks(len(profiles), k)
        return np.concatenate([reversed_disorder(*ranks_and_weights(profiles[rows], k, tail)) for rows in parts])

    return tables.profile_values(labels, ("reversed", tail, k), of_profiles)
