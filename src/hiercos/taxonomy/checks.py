"""`TaxonomyError`, and checks on the nodes of a taxonomy that report every fault, not just the first."""

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np

from hiercos.checks import NODES, limit_fault
from hiercos.errors import FaultsError
from hiercos.taxonomy.graph import IntArray, NodeLists, longest_depths

IDS_HINT = "csv, edges, json and yaml can, and hiercos taxonomy convert --without-ids drops them"
ORDER_FAULT = (
    "expected nodes numbered parents first, level by level, children in their parents' order; "
    "Taxonomy.from_arrays takes any numbering"
)


class TaxonomyError(FaultsError):
    """A taxonomy that cannot be used, or that a format cannot hold."""


class NotATreeError(TaxonomyError, AttributeError):
    """An attribute that only a tree has, read from a graph."""


T = TypeVar("T", bound=Hashable)


def node_faults(names: Sequence[str], parents: IntArray | NodeLists, ids: Sequence[str]) -> list[str]:
    """Everything wrong with the nodes of a tree or a graph, one sentence each; see `Taxonomy` for the arguments."""
    if faults := shape_faults(names, parents, ids):
        return faults
    if isinstance(parents, NodeLists):
        lists, in_order = parents, levels_in_order(parents)
    else:
        lists, in_order = NodeLists.of_parents(parents), breadth_first(parents)
    return list(identity_faults(names, lists, ids)) if in_order else [ORDER_FAULT]


def same_form(text: str) -> str:
    r"""A text in the form in which names are compared: Unicode's NFC, where an accent is part of its letter.

    Example:
        >>> same_form("e\u0301") == same_form("\xe9")
        True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def check_limits(nodes: int) -> None:
    """Raise a `TaxonomyError` for a taxonomy of a file with more nodes than the limit."""
    if fault := limit_fault("nodes", nodes, NODES):
        raise TaxonomyError(fault)


def shape_faults(names: Sequence[str], parents: IntArray | NodeLists, ids: Sequence[str]) -> list[str]:
    """Faults of an empty tree and of lengths that disagree."""
    count, shape = len(names), (parents.starts[1:] if isinstance(parents, NodeLists) else parents).shape
    faults = []
    if count == 0:
        faults.append("the tree is empty: expected at least one node under the root")
    if shape != (count,):
        faults.append(f"expected {count} parents, one for each name, got shape {shape}")
    if ids and len(ids) != count:
        faults.append(f"expected {count} ids, one for each name, got {len(ids)}")
    return faults


def breadth_first(parents: IntArray) -> bool:
    """Whether the nodes of a tree are numbered level by level, children in their parents' order."""
    before = parents < np.arange(len(parents))
    return bool(parents[0] == -1 and before.all() and (np.diff(parents) >= 0).all())


def levels_in_order(parents: NodeLists) -> bool:
    """Whether the nodes of a graph are numbered level by level."""
    return bool((parents.nodes < parents.owners).all() and (np.diff(longest_depths(parents)) >= 0).all())


def identity_faults(names: Sequence[str], parents: NodeLists, ids: Sequence[str]) -> Iterator[str]:
    """Faults of empty names, repeated ids, and siblings with the same name and id."""
    for node, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            yield f"node {node}: expected a name, got {name!r}"
    for given_id, count in repeated(text for text in ids if text):
        yield f"id {given_id!r} occurs {count} times: expected it once"
    forms = [same_form(name) if isinstance(name, str) else name for name in names]  # others are a fault of their own
    tops = ((-1, node) for node in np.flatnonzero(np.diff(parents.starts) == 0).tolist())
    edges = chain(tops, zip(parents.nodes.tolist(), parents.owners.tolist(), strict=True))
    siblings = ((parent, forms[node], ids[node] if ids else "") for parent, node in edges)
    for (parent, name, _), count in repeated(siblings):
        place = "the root" if parent < 0 else repr(names[parent])
        yield f"{count} nodes under {place} are called {name!r}: expected distinct names, or ids"


def repeated(values: Iterable[T]) -> Iterator[tuple[T, int]]:
    """The values that occur more than once, with their counts."""
    return ((value, count) for value, count in Counter(values).items() if count > 1)
