"""Changes from one taxonomy to another: nodes that are matched, added, renamed, moved or dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hiercos.errors import listed
from hiercos.taxonomy.describe import counted
from hiercos.taxonomy.labels.reader import label_indices, nodes_of_labels
from hiercos.taxonomy.operations import common_node
from hiercos.taxonomy.tree import IntArray, Taxonomy

MOST_SHOWN = 5  # nodes named in a line of the report


@dataclass(frozen=True, eq=False)
class TaxonomyChange:
    """Correspondence of the nodes of an old and a new taxonomy."""

    old: Taxonomy  # taxonomy before the change
    new: Taxonomy  # taxonomy after the change
    old_nodes: IntArray  # old node of each new node, shape (N_new,), -1 for an added one
    new_nodes: IntArray  # new node of each old node, shape (N_old,), -1 for a dropped one
    # new nodes of old ones that were split or merged, from a crosswalk
    targets: Mapping[int, Sequence[int]] = field(default_factory=dict)

    @property
    def added(self) -> IntArray:
        """New nodes without an old one."""
        return np.flatnonzero(self.old_nodes < 0)

    @property
    def dropped(self) -> IntArray:
        """Old nodes without a new one."""
        return np.flatnonzero(self.new_nodes < 0)

    @property
    def renamed(self) -> IntArray:
        """New nodes whose old node has another name."""
        matched: IntArray = np.flatnonzero(self.old_nodes >= 0)
        kept = [self.new.names[node] == self.old.names[self.old_nodes[node]] for node in matched]
        renamed: IntArray = matched[~np.array(kept, dtype=bool)]
        return renamed

    @property
    def moved(self) -> IntArray:
        """New nodes whose parents are not the matches of their old node's parents."""
        matched = np.flatnonzero(self.old_nodes >= 0)
        kept = [
            {*self.old_nodes[self.new.parent_lists.list(int(node))].tolist()}
            == {*self.old.parent_lists.list(int(self.old_nodes[node])).tolist()}
            for node in matched
        ]
        moved: IntArray = matched[~np.array(kept, dtype=bool)]
        return moved

    def nearest_old(self, node: int) -> int:
        """Old node of a new node's first parent that has one, walking up; -1 if there is none."""
        while len(above := self.new.parent_lists.list(node)):
            node = int(above[0])
            if self.old_nodes[node] >= 0:
                return int(self.old_nodes[node])
        return -1

    def new_labels(self, labels: IntArray) -> IntArray:
        """Label indices of the old taxonomy as those of the new one, same shape.

        A dropped node becomes the lowest node above all of its `targets`; without any, its nearest ancestor that is
        left, and the root if none is.
        """
        target = np.append(self.new_nodes, -1)  # of the nodes, then of the root
        for node in self.dropped.tolist():  # parents first
            above = self.old.parent_lists.list(node)
            kept = target[above[0]] if len(above) else -1
            target[node] = common_node(self.targets[node], self.new) if self.targets.get(node) else kept
        return label_indices(target[nodes_of_labels(labels, self.old)], self.new)

    def lines(self) -> list[str]:
        """Report of the change, one line for each kind of node."""
        kinds = {"added": self.added, "renamed": self.renamed, "moved": self.moved}
        rows = [f"matched: {counted(int((self.old_nodes >= 0).sum()), 'node', 'nodes')}"]
        rows += [_line(kind, nodes, self.new) for kind, nodes in kinds.items()]
        return [*rows, _line("dropped", self.dropped, self.old)]


def _line(kind: str, nodes: IntArray, taxonomy: Taxonomy) -> str:
    shown = listed((taxonomy.path_text(int(node)) for node in nodes), MOST_SHOWN, "; ")
    return f"{kind}: {counted(len(nodes), 'node', 'nodes')}" + (f" ({shown})" if shown else "")


def taxonomy_change(old: Taxonomy, new: Taxonomy) -> TaxonomyChange:
    """Match the nodes of two taxonomies: by id, then nodes without a match by path.

    Example:
        >>> old = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog")])
        >>> new = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("plant",)])
        >>> taxonomy_change(old, new).lines()[:2]
        ['matched: 3 nodes', 'added: 2 nodes (plant; pet > fish)']
    """
    by_id = {given_id: node for node, given_id in enumerate(old.ids) if given_id}
    by_path = {old.path_text(node): node for node in range(old.num_nodes)}
    old_nodes = np.full(new.num_nodes, -1)
    new_nodes = np.full(old.num_nodes, -1)
    for known, keys in ((by_id, new.ids), (by_path, [new.path_text(node) for node in range(new.num_nodes)])):
        for node, key in enumerate(keys):
            match = known.get(key, -1)
            if match >= 0 > old_nodes[node] and new_nodes[match] < 0:
                old_nodes[node], new_nodes[match] = match, node
    return TaxonomyChange(old, new, old_nodes, new_nodes)
