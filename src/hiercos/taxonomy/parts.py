"""Parts of a taxonomy: below a node, above given classes, or with one parent of each node."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hiercos.checks import check_choice
from hiercos.taxonomy.build import tree_from_arrays
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.graph import NodeLists, offsets
from hiercos.taxonomy.operations import Floats, ancestor_sums, descendant_sums
from hiercos.taxonomy.tree import IntArray, Taxonomy

PARENTS = ("all", "first", "shortest", "one")  # parents that are kept of a node with several
ONE_PARENT_HINT = "expected one (--parents shortest or first, in Python parents='shortest', keeps one of each)"


def part_below(taxonomy: Taxonomy, node: int) -> Taxonomy:
    """The nodes below a node, which becomes the root; parents outside of them are dropped. All for the root, -1.

    Raises:
        TaxonomyError: for a node without children.

    Example:
        >>> t = Taxonomy.from_edges([("", "a"), ("a", "b"), ("b", "c"), ("", "x"), ("x", "c"), ("x", "d")])
        >>> part_below(t, t.names.index("x")).class_names
        ('c', 'd')
    """
    if node < 0:
        return taxonomy
    if not taxonomy.child_counts[node]:
        raise TaxonomyError(f"{taxonomy.names[node]!r} has no children: expected a node with others below it")
    inside = ancestor_sums(_marked(taxonomy, [node]), taxonomy)[0] > 0
    inside[node] = False
    return _part(taxonomy, inside, taxonomy.leaves[inside[taxonomy.leaves]])


def part_above(taxonomy: Taxonomy, classes: Sequence[int]) -> Taxonomy:
    """The given nodes as classes, in this order, and their ancestors.

    Raises:
        TaxonomyError: for a node that is given twice, or is an ancestor of another.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> part_above(t, [1, 3]).class_names  # the vehicle and the dog
        ('vehicle', 'dog')
    """
    marked = _marked(taxonomy, classes)
    counts = descendant_sums(marked, taxonomy)[0]
    first: dict[int, int] = {}
    faults = []
    for number, node in enumerate(classes, 1):
        shown = f"class {number}: {taxonomy.path_text(node)!r}"
        if node < 0:
            faults.append(f"class {number}: expected a node below the root")
        elif first.setdefault(node, number) != number:
            faults.append(f"{shown} is already class {first[node]}")
        elif counts[node] > 1:
            faults.append(f"{shown} is also an inner node: expected a leaf")
    if faults:
        raise TaxonomyError(faults)
    return _part(taxonomy, counts > 0, np.array(classes, dtype=np.int64))


def _marked(taxonomy: Taxonomy, nodes: Sequence[int]) -> Floats:
    """One row with 1 at some nodes, shape (1, N)."""
    marked = np.zeros((1, taxonomy.num_nodes))
    marked[0, nodes] = 1
    return marked


def _part(taxonomy: Taxonomy, inside: NDArray[np.bool_], classes: IntArray) -> Taxonomy:
    """The taxonomy of some nodes, with the parents among them."""
    nodes, lists = np.flatnonzero(inside), taxonomy.parent_lists
    kept = inside[lists.nodes] & inside[lists.owners]
    new_index = np.cumsum(inside) - 1
    counts = np.bincount(lists.owners[kept], minlength=taxonomy.num_nodes)[nodes]
    parents = NodeLists(offsets(counts), new_index[lists.nodes[kept]])
    names, ids = ([texts[node] for node in nodes.tolist()] if texts else [] for texts in (taxonomy.names, taxonomy.ids))
    return tree_from_arrays(names, parents, new_index[classes], ids=ids)


def kept_parents(taxonomy: Taxonomy, choice: str) -> Taxonomy:
    """A taxonomy in which every node keeps one parent; classes that lost all children follow the others.

    Args:
        taxonomy: the graph; a tree is returned unchanged.
        choice: "first" for the first parent, "shortest" for the first of those nearest to the root by the shortest
            path, "one" to raise an error for nodes with several parents, "all" to keep all of them.

    Raises:
        TaxonomyError: for "one", naming every node with several parents.

    Example:
        >>> t = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("", "a"), ("", "x"), ("x", "c"), ("c", "d")])
        >>> first, shortest = kept_parents(t, "first"), kept_parents(t, "shortest")
        >>> first.path_text(first.leaves[0]), shortest.path_text(shortest.leaves[0])
        ('a > b > c > d', 'x > c > d')
    """
    check_choice("parents", choice, PARENTS)
    if taxonomy.is_tree or choice == "all":
        return taxonomy
    if choice == "one":
        raise TaxonomyError(_several_parents_faults(taxonomy))
    lists, count = taxonomy.parent_lists, taxonomy.num_nodes
    nearest = _shortest_depths(lists) if choice == "shortest" else np.zeros(count, dtype=np.int64)
    parents = [int(above[np.argmin(nearest[above])]) if len(above) else -1 for above in map(lists.list, range(count))]
    childless = np.setdiff1d(np.arange(count), parents)
    new_classes = childless[~np.isin(childless, taxonomy.leaves)]
    return tree_from_arrays(taxonomy.names, parents, np.append(taxonomy.leaves, new_classes), ids=taxonomy.ids)


def _several_parents_faults(taxonomy: Taxonomy) -> Iterator[str]:
    """A sentence about every node with several parents."""
    for node in np.flatnonzero(np.diff(taxonomy.parent_lists.starts) > 1).tolist():
        above = [repr(taxonomy.names[parent]) for parent in taxonomy.parent_lists.list(node)]
        yield f"{taxonomy.names[node]!r} has {len(above)} parents, {', '.join(above)}; {ONE_PARENT_HINT}"


def _shortest_depths(parents: NodeLists) -> IntArray:
    """Length of each node's shortest path from the root, shape (N,); nodes are numbered parents first."""
    depths = np.ones(len(parents.starts) - 1, dtype=np.int64)
    for node in range(len(depths)):
        if len(above := parents.list(node)):
            depths[node] = 1 + depths[above].min()
    return depths
