"""Trees for tests: hypothesis strategies, the paper's 17-class example, and the shared folder's trees."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.taxonomy import NodeLists

TOY = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])

# The tree of the paper's HOPS example as METHODS restates it: 17 classes at depths 1, 3 and 4.
TOY17 = Taxonomy.from_paths(
    [(name,) for name in ("A2", "A3", "A4", "A5")]
    + [("A1", "B1", "C3"), ("A1", "B2", "C5"), ("A1", "B2", "C6")]
    + [("A1", "B1", "C1", f"D{number}") for number in (1, 2, 3, 4)]
    + [("A1", "B1", "C2", "D5")]
    + [("A1", "B2", "C4", f"D{number}") for number in (6, 7, 8, 9, 10)]
)


@st.composite
def taxonomies(draw: st.DrawFn, max_nodes: int = 24) -> Taxonomy:
    """Random trees: deep chains, stars, one leaf, one-child nodes, uneven depth, classes in any order."""
    count = draw(st.integers(1, max_nodes))
    reach = draw(st.sampled_from([1, 2, 4, max_nodes]))  # 1 makes chains, max_nodes bushes
    parents = [-1] + [draw(st.integers(max(-1, node - reach), node - 1)) for node in range(1, count)]
    childless = sorted(set(range(count)) - set(parents))
    leaves = draw(st.permutations(childless))
    return Taxonomy.from_arrays([f"n{node}" for node in range(count)], parents, leaves)


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 20) -> Taxonomy:
    """Random graphs: nodes with none to three parents, in any numbering, classes in any order; some are trees."""
    count = draw(st.integers(1, max_nodes))
    most = draw(st.integers(1, 3))
    lists = [()] + [
        tuple(draw(st.lists(st.integers(0, node - 1), max_size=min(most, node), unique=True)))
        for node in range(1, count)
    ]
    leaves = draw(st.permutations(sorted(set(range(count)) - {parent for own in lists for parent in own})))
    return Taxonomy.from_arrays([f"n{node}" for node in range(count)], NodeLists.of(lists), leaves)


def random_tree(seed: int, count: int = 40) -> Taxonomy:
    """One random tree for tests that need a fixed one of some size."""
    generator = np.random.default_rng(seed)
    parents = [-1] + [int(generator.integers(max(-1, node - 12), node)) for node in range(1, count)]
    return Taxonomy.from_arrays([f"n{node}" for node in range(count)], parents)


def ancestor_sets(taxonomy: Taxonomy) -> list[set[int]]:
    """Every node's ancestors and itself, walked up one parent at a time."""
    sets: list[set[int]] = []
    for node in range(taxonomy.num_nodes):
        sets.append({node}.union(*(sets[parent] for parent in taxonomy.parent_lists.list(node))))
    return sets


def slow_distances(taxonomy: Taxonomy) -> list[list[int]]:
    """H less the number of shared ancestors for every two classes, 0 on the diagonal, from sets."""
    sets = [ancestor_sets(taxonomy)[leaf] for leaf in taxonomy.leaves]
    most = max(map(len, sets))
    return [[0 if one is other else most - len(one & other) for other in sets] for one in sets]


def descendant_sets(taxonomy: Taxonomy) -> list[set[int]]:
    """Every node's descendants and itself: the nodes that have it among their ancestors."""
    ancestors = ancestor_sets(taxonomy)
    return [{node for node, above in enumerate(ancestors) if own in above} for own in range(taxonomy.num_nodes)]


def shared(*parts: str) -> Path:
    """A file of the shared folder; the test is skipped where that is absent (HIERCOS_SHARED names it)."""
    path = Path(os.environ.get("HIERCOS_SHARED", "/nonexistent"), *parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not here: HIERCOS_SHARED names the folder that has it")
    return path
