"""`TaxonomyError`, and checks on the nodes of a taxonomy that report every fault, not just the first."""

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hiercos.errors import FaultsError
from hiercos.limits import NODES, limit_fault

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


def node_faults(names: Sequence[str], parents: NDArray[np.int64], ids: Sequence[str]) -> list[str]:
    """Everything wrong with the nodes of a tree, one sentence each; see `Taxonomy` for the arguments."""
    return shape_faults(names, parents, ids) or order_faults(parents) or list(identity_faults(names, parents, ids))


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


def graph_faults(names: Sequence[str], parents: tuple[NDArray[np.int64], ...], ids: Sequence[str]) -> list[str]:
    """Everything wrong with the nodes of a graph whose parents are lists; see `Taxonomy` for the arguments."""
    starts, nodes = parents
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    faults = shape_faults(names, starts[1:], ids)
    if not faults and (nodes >= owners).any():
        faults = [ORDER_FAULT]
    under_root = np.flatnonzero(np.diff(starts) == 0)
    return faults or list(
        identity_faults(names, np.append(nodes, np.full(len(under_root), -1)), ids, np.append(owners, under_root))
    )


def shape_faults(names: Sequence[str], parents: NDArray[np.int64], ids: Sequence[str]) -> list[str]:
    """Faults of an empty tree and of lengths that disagree."""
    count = len(names)
    faults = []
    if count == 0:
        faults.append("the tree is empty: expected at least one node under the root")
    if parents.shape != (count,):
        faults.append(f"expected {count} parents, one for each name, got shape {parents.shape}")
    if ids and len(ids) != count:
        faults.append(f"expected {count} ids, one for each name, got {len(ids)}")
    return faults


def order_faults(parents: NDArray[np.int64]) -> list[str]:
    """The fault of nodes that are not numbered breadth-first, or an empty list."""
    before = parents < np.arange(len(parents))
    if parents[0] == -1 and before.all() and (np.diff(parents) >= 0).all():
        return []
    return [ORDER_FAULT]


def identity_faults(
    names: Sequence[str],
    parents: NDArray[np.int64],
    ids: Sequence[str],
    children: NDArray[np.int64] | None = None,
) -> Iterator[str]:
    """Faults of empty names, repeated ids, and siblings with the same name and id.

    Args:
        names: name of each node.
        parents: parent of each edge, -1 for the root.
        ids: id of each node, or none.
        children: child of each edge; by default edge i leads to node i.
    """
    node_names = names
    for node, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            yield f"node {node}: expected a name, got {name!r}"
    for given_id, count in repeated(text for text in ids if text):
        yield f"id {given_id!r} occurs {count} times: expected it once"
    if children is not None:  # one entry for each edge
        nodes = children.tolist()
        names, ids = [names[node] for node in nodes], [ids[node] for node in nodes] if ids else ()
    for (parent, name, _), count in repeated(zip(parents.tolist(), _compared(names), ids or repeat(""), strict=False)):
        place = "the root" if parent < 0 else repr(node_names[parent])
        yield f"{count} nodes under {place} are called {name!r}: expected distinct names, or ids"


def _compared(names: Sequence[str]) -> Iterator[str]:
    """Names in the form in which they are compared; anything else, a fault of its own, unchanged."""
    return (same_form(name) if isinstance(name, str) else name for name in names)


def repeated(values: Iterable[T]) -> Iterator[tuple[T, int]]:
    """The values that occur more than once, with their counts."""
    return ((value, count) for value, count in Counter(values).items() if count > 1)
