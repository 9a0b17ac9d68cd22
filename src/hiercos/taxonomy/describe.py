"""Summary statistics of a taxonomy, and the tree as lines of text."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hiercos.taxonomy.distances import classes_below
from hiercos.taxonomy.tree import Taxonomy


@dataclass(frozen=True)
class TaxonomyFacts:
    """Summary statistics of a taxonomy.

    Attributes:
        nodes_per_level: number of nodes at each level, level 1 first.
        classes_per_level: number of classes at each level, level 1 first.
        fewest_children: least number of children of the root or an inner node.
        mean_children: mean number of children of the root and the inner nodes.
        most_children: largest number of children of the root or an inner node.
        one_child_nodes: number of inner nodes with a single child.
        repeated_names: names that several nodes share, with the number of nodes, most frequent first.
    """

    nodes_per_level: tuple[int, ...]
    classes_per_level: tuple[int, ...]
    fewest_children: int
    mean_children: float
    most_children: int
    one_child_nodes: int
    repeated_names: dict[str, int]


def taxonomy_facts(taxonomy: Taxonomy) -> TaxonomyFacts:
    """Compute the statistics that `hiercos taxonomy show` prints.

    Example:
        >>> toy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> taxonomy_facts(toy).one_child_nodes
        1
    """
    counts = taxonomy.child_counts
    families = np.append(counts[counts > 0], np.diff(taxonomy.level_starts)[0])
    per_level = np.bincount(taxonomy.depths[taxonomy.leaves], minlength=taxonomy.height + 1)[1:]
    names = Counter(taxonomy.names).most_common()
    return TaxonomyFacts(
        nodes_per_level=tuple(np.diff(taxonomy.level_starts).tolist()),
        classes_per_level=tuple(per_level.tolist()),
        fewest_children=int(families.min()),
        mean_children=float(families.mean()),
        most_children=int(families.max()),
        one_child_nodes=int((counts == 1).sum()),
        repeated_names={name: count for name, count in names if count > 1},
    )


def tree_lines(taxonomy: Taxonomy, *, depth: int, children: int) -> Iterator[str]:
    r"""The tree, one node a line, with the number of classes below each.

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
    pending = _family(taxonomy, -1, "", children)
    while pending:
        line = pending.pop()
        classes = counted(int(below[line.nodes.start : line.nodes.stop].sum()), "class", "classes")
        node = line.nodes.start
        if line.folded:
            yield f"{line.branch}… {len(line.nodes)} more ({classes})"
        elif taxonomy.child_counts[node] == 0:
            yield f"{line.branch}{_label(taxonomy, node)}"
        elif taxonomy.depths[node] >= depth:
            yield f"{line.branch}{_label(taxonomy, node)} ({classes}) …"
        else:
            yield f"{line.branch}{_label(taxonomy, node)} ({classes})"
            pending += _family(taxonomy, node, line.indent, children)


class _Line(NamedTuple):
    """One pending line, for a node or several folded ones, with its own prefix and the indent of its children."""

    nodes: range
    folded: bool
    branch: str
    indent: str


def _family(taxonomy: Taxonomy, parent: int, indent: str, most: int) -> list[_Line]:
    """Lines of a node's children, last first, to be pushed onto the stack."""
    first, end = np.searchsorted(taxonomy.parents, [parent, parent + 1]).tolist()
    shown = min(end, first + most)
    groups = [range(node, node + 1) for node in range(first, shown)]
    groups += [range(shown, end)] if shown < end else []
    lines = [_Line(nodes, nodes.start >= shown, f"{indent}├── ", f"{indent}│   ") for nodes in groups]
    lines[-1] = lines[-1]._replace(branch=f"{indent}└── ", indent=f"{indent}    ")
    return lines[::-1]


def _label(taxonomy: Taxonomy, node: int) -> str:
    name = taxonomy.names[node]
    shown = name if name.isprintable() else repr(name)
    return f"{shown} [{taxonomy.ids[node]}]" if taxonomy.ids and taxonomy.ids[node] else shown


def counted(count: int, one: str, more: str) -> str:
    """A count with its noun, singular or plural.

    Example:
        >>> counted(1, "class", "classes"), counted(2, "class", "classes")
        ('1 class', '2 classes')
    """
    return f"{count} {one if count == 1 else more}"
