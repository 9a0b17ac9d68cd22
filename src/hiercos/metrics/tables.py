"""What the metrics need to know about a taxonomy, once per taxonomy and device.

Everything follows from the paths of the classes: two classes share as many ancestors as their paths have equal
levels, and the number of classes at each distance from a class is a difference of leaf counts along its path.
Up to `MOST_TABULATED` classes the preference ranks of all pairs are kept as small integers; beyond that they
are worked out for the pairs or rows asked for, and nothing of size C x C is ever made.
"""

import weakref
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hiercos.taxonomy import Taxonomy
from hiercos.taxonomy.tree import IntArray

MOST_TABULATED = 5_000  # classes whose pairwise ranks are kept: 25 MB of int8
CHUNK = 1 << 22  # scores handled at a time: their order takes 32 MB


class RankTables:
    """Preference ranks and distances between the classes of one taxonomy, on one device.

    Attributes:
        num_classes: C.
        height: H.
        paths: the nodes of each class's path, shape (C, H), -1 beyond its depth.
        levels: the same as rows, shape (H, C).
        depths: the depth of each class, shape (C,).
        profiles: the number of classes at each rank, one row per distinct rank profile, shape (P, R).
        profile_of: the rank profile of each class, shape (C,).
        rank_of_distance: dense rank of each distance as seen from each class, shape (C, H + 1).
        distance_of_rank: its inverse, shape (C, R); 0 beyond a class's last rank.
        memo: what the metrics derive from all this and want to keep, by a name of their own.
    """

    def __init__(self, taxonomy: Taxonomy, device: torch.device) -> None:
        self.num_classes, self.height = taxonomy.num_classes, taxonomy.height
        self.memo: dict[tuple[str | int, ...], Tensor] = {}
        small = np.int8 if self.height < 127 else np.int16
        paths = taxonomy.path_table(taxonomy.leaves)
        counts = distance_counts(paths)
        ranks = np.cumsum(counts > 0, axis=1) - 1  # (C, H + 1)
        rows, distances = np.nonzero(counts)
        by_rank = np.zeros((2, len(paths), int(ranks.max()) + 1), dtype=np.int64)
        by_rank[0, rows, ranks[rows, distances]] = counts[rows, distances]
        by_rank[1, rows, ranks[rows, distances]] = distances
        profiles, profile_of = np.unique(by_rank[0], axis=0, return_inverse=True)
        self.paths = torch.from_numpy(paths.astype(np.int32)).to(device)
        self.levels = self.paths.t().contiguous()
        self.depths = torch.from_numpy(taxonomy.depths[taxonomy.leaves]).to(device)
        self.profiles = torch.from_numpy(profiles).to(device)
        self.profile_of = torch.from_numpy(profile_of.reshape(-1)).to(device)
        self.rank_of_distance = torch.from_numpy(ranks.astype(small)).to(device)
        self.distance_of_rank = torch.from_numpy(by_rank[1].astype(small)).to(device)

    @property
    def keeps_orders(self) -> bool:
        """Whether the preferred orders of all rank profiles, (P, C) numbers, are few enough to keep."""
        return self.tabulated and len(self.profiles) * self.num_classes <= 4 * CHUNK

    @property
    def tabulated(self) -> bool:
        """Whether there are few enough classes to keep the ranks of all pairs."""
        return self.num_classes <= MOST_TABULATED

    @cached_property
    def rank_table(self) -> Tensor:
        """Preference ranks of all pairs, shape (C, C); only where `tabulated`."""
        classes = torch.arange(self.num_classes, device=self.paths.device)
        return torch.cat([self._ranks_by_path(part) for part in torch.split(classes, self.rows_per_chunk)])

    @property
    def rows_per_chunk(self) -> int:
        """How many rows of C entries are handled at a time."""
        return max(1, CHUNK // self.num_classes)

    def rank_rows(self, labels: Tensor) -> Tensor:
        """Preference rank of every class as seen from each label, shape (B, C)."""
        return self.rank_table[labels] if self.tabulated else self._ranks_by_path(labels)

    def ranks(self, labels: Tensor, classes: Tensor) -> Tensor:
        """Preference ranks of some classes as seen from each label: (B,) and (B, K) -> (B, K)."""
        if 4 * classes.shape[1] > self.num_classes:
            return self.rank_rows(labels).gather(1, classes)
        if self.tabulated:
            return self.rank_table[labels[:, None], classes]
        return self.rank_of_distance[labels].gather(1, self.distances(labels, classes).long())

    def distances(self, labels: Tensor, classes: Tensor) -> Tensor:
        """Tree distances of each label to some classes: (B,) and (B, K) -> (B, K)."""
        own = self._own_path(labels)
        shared = torch.zeros(classes.shape, dtype=torch.int16, device=classes.device)
        for level in range(self.height):
            shared += self.paths[classes, level] == own[:, level, None]
        return (self.height - shared).masked_fill_(classes == labels[:, None], 0)

    def _own_path(self, labels: Tensor) -> Tensor:
        """Paths of the labels, shape (B, H), with -2 beyond their depth: equal to nothing in `paths`."""
        own = self.paths[labels]
        return own.masked_fill_(own < 0, -2)

    def _ranks_by_path(self, labels: Tensor) -> Tensor:
        """Preference rank of every class, shape (B, C): one class nearer for each shared level that others lack."""
        ranks = self.rank_of_distance[labels]  # (B, H + 1)
        own = self._own_path(labels)
        block = ranks[:, -1:].repeat(1, self.num_classes)
        for level in range(self.height):
            nearer = ranks[:, self.height - level] - ranks[:, self.height - level - 1]
            block -= (self.levels[level] == own[:, level, None]) * nearer[:, None]
        return block.scatter_(1, labels[:, None], 0)


def distance_counts(paths: IntArray) -> IntArray:
    """The number of classes at each distance 0…H from each class, shape (C, H + 1).

    As many classes lie below the common ancestor at some depth as that ancestor has leaves; those at
    exactly that depth are what the next step of the path leaves out.

    Args:
        paths: the nodes of each class's path, shape (C, H), -1 beyond its depth.
    """
    leaf_counts = np.bincount(paths[paths >= 0])
    below = np.where(paths >= 0, leaf_counts[paths], 1)  # (C, H)
    within = np.column_stack([np.full(len(paths), len(paths)), below])  # (C, H + 1), common depth 0…H at least
    itself = np.ones((len(paths), 1), dtype=np.int64)
    return np.hstack([itself, -np.diff(within, axis=1)[:, ::-1]])


_tables: "weakref.WeakKeyDictionary[Taxonomy, dict[torch.device, RankTables]]" = weakref.WeakKeyDictionary()


def rank_tables(taxonomy: Taxonomy, device: torch.device) -> RankTables:
    """The tables of a taxonomy on a device, made at the first call."""
    on_devices = _tables.setdefault(taxonomy, {})
    if device not in on_devices:
        on_devices[device] = RankTables(taxonomy, device)
    return on_devices[device]
