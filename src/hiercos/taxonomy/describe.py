"""Summary statistics of a taxonomy, and the tree as lines of text."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hiercos.errors import visible
from hiercos.taxonomy.distances import classes_below
from hiercos.taxonomy.operations import ancestor_matrix
from hiercos.taxonomy.tree import IntArray, Taxonomy


@dataclass(frozen=True)
class TaxonomyFacts:
    """Summary statistics of a taxonomy."""

    nodes_per_level: tuple[int, ...]  # number of nodes at each level, level 1 first
    classes_per_level: tuple[int, ...]  # number of classes at each level, level 1 first
    fewest_children: int  # least number of children of the root or an inner node
    mean_children: float  # mean number of children of the root and the inner nodes
    most_children: int  # largest number of children of the root or an inner node
    one_child_nodes: int  # number of inner nodes with a single child
    several_parents: int  # number of nodes with several parents
    repeated_names: dict[str, int]  # names that several nodes share, with the number of nodes, most frequent first


def taxonomy_facts(taxonomy: Taxonomy) -> TaxonomyFacts:
    """Compute the statistics that `hiercos taxonomy show` prints.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> taxonomy_facts(toy).one_child_nodes
        1
    """
    counts = taxonomy.child_counts
    tops = int((np.diff(taxonomy.parent_lists.starts) == 0).sum())
    families = np.append(counts[counts > 0], tops)
    per_level = np.bincount(taxonomy.depths[taxonomy.leaves], minlength=taxonomy.height + 1)[1:]
    names = Counter(taxonomy.names).most_common()
    return TaxonomyFacts(
        nodes_per_level=tuple(np.diff(taxonomy.level_starts).tolist()),
        classes_per_level=tuple(per_level.tolist()),
        fewest_children=int(families.min()),
        mean_children=float(families.mean()),
        most_children=int(families.max()),
        one_child_nodes=int((counts == 1).sum()),
        several_parents=taxonomy.several_parents,
        repeated_names={name: count for name, count in names if count > 1},
    )


def tree_lines(taxonomy: Taxonomy, *, depth: int, children: int) -> Iterator[str]:
    r"""The tree, one node a line, with the number of classes below each; in a graph, a node below each of its parents.

    Args:
        taxonomy: the tree.
        depth: number of levels shown; deeper nodes are folded into their ancestor.
        children: largest number of children shown per node; the rest are folded into one line.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> print("\n".join(tree_lines(toy, depth=2, children=1)))
        ├── pet (2 classes)
        │   ├── cat
        │   └── … 1 more (1 class)
        └── … 1 more (1 class)
    """
    below = classes_below(taxonomy)
    families = taxonomy.parent_lists.reversed()
    tops = np.flatnonzero(np.diff(taxonomy.parent_lists.starts) == 0)
    pending = _family(tops, "", children)
    while pending:
        line = pending.pop()
        node = int(line.nodes[0])
        number = below[line.nodes].sum() if taxonomy.is_tree else _union_size(taxonomy, line.nodes)
        classes = counted(int(number), "class", "classes")
        if line.folded:
            yield f"{line.branch}… {len(line.nodes)} more ({classes})"
        elif taxonomy.child_counts[node] == 0:
            yield f"{line.branch}{_label(taxonomy, node)}"
        elif line.depth >= depth:
            yield f"{line.branch}{_label(taxonomy, node)} ({classes}) …"
        else:
            yield f"{line.branch}{_label(taxonomy, node)} ({classes})"
            pending += _family(families.list(node), line.indent, children, line.depth + 1)


class _Line(NamedTuple):
    """One pending line, for a node or several folded ones, with its own prefix and the indent of its children."""

    nodes: IntArray
    folded: bool
    branch: str
    indent: str
    depth: int


def _family(nodes: IntArray, indent: str, most: int, depth: int = 1) -> list[_Line]:
    """Lines of sibling nodes, last first, to be pushed onto the stack."""
    shown = nodes[:most, None]  # one row for each line
    lines = [_Line(node, False, f"{indent}├── ", f"{indent}│   ", depth) for node in shown]
    lines += [_Line(nodes[most:], True, f"{indent}├── ", "", depth)] if len(nodes) > most else []
    lines[-1] = lines[-1]._replace(branch=f"{indent}└── ", indent=f"{indent}    ")
    return lines[::-1]


def _union_size(taxonomy: Taxonomy, nodes: IntArray) -> int:
    """Number of classes at or below any of the nodes."""
    return int((ancestor_matrix(taxonomy)[taxonomy.leaves][:, nodes].sum(axis=1) > 0).sum())


def _label(taxonomy: Taxonomy, node: int) -> str:
    name = taxonomy.names[node]
    shown = name if name.isprintable() else repr(name)
    return f"{shown} [{visible(taxonomy.ids[node])}]" if taxonomy.ids and taxonomy.ids[node] else shown


def counted(count: int, one: str, more: str) -> str:
    """A count with its noun, singular or plural.

    Example:
        >>> counted(1, "class", "classes"), counted(2, "class", "classes")
        ('1 class', '2 classes')
    """
    return f"{count} {one if count == 1 else more}"
