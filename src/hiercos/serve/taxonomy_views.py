"""The taxonomy as JSON: nodes with their paths, a search, and the nested form of Label Studio."""

from typing import Any

import numpy as np

from hiercos.taxonomy import IntArray, LabelReader, Taxonomy, is_at_or_above

Node = dict[str, Any]


def node_values(taxonomy: Taxonomy, node: int) -> Node:
    """One node: its name, path, id, parents, whether it is a class, and the number of its children."""
    return {
        "name": taxonomy.names[node],
        "path": taxonomy.path_text(node),
        "id": taxonomy.ids[node] if taxonomy.ids else None,
        "parents": [taxonomy.path_text(parent) for parent in taxonomy.parent_lists.list(node).tolist()],
        "is_class": bool(taxonomy.child_counts[node] == 0),
        "children": int(taxonomy.child_counts[node]),
    }


def nodes_under(taxonomy: Taxonomy, under: str | None, depth: int | None) -> list[int]:
    """Nodes at or below a node, at most so many levels below it; all of them by default."""
    top, nodes = -1 if under is None else node_of(taxonomy, under), np.arange(taxonomy.num_nodes)
    found = is_at_or_above(np.full((len(nodes), 1), top), nodes, taxonomy)[:, 0]
    if depth is not None:
        found &= taxonomy.depths <= depth + (taxonomy.depths[top] if top >= 0 else 0)
    return [int(node) for node in np.flatnonzero(found)]


def node_of(taxonomy: Taxonomy, name: str) -> int:
    """Node by name, id or path; -1 for the root."""
    nodes: IntArray = LabelReader(taxonomy).read([name], source="", row_name=None, inner=True, paths_first=True)
    return int(nodes[0])


def found_nodes(taxonomy: Taxonomy, text: str, limit: int) -> list[int]:
    """Nodes whose name or id contains a text, whatever its letter case: those that begin with it first."""
    wanted = text.casefold().strip()
    ids = taxonomy.ids or [""] * taxonomy.num_nodes
    texts = [f"{name}\0{code}".casefold() for name, code in zip(taxonomy.names, ids, strict=True)]
    matching = [node for node, each in enumerate(texts) if wanted in each]
    order = sorted(matching, key=lambda node: (not texts[node].startswith(wanted), len(texts[node]), node))
    return order[:limit]


def label_studio_items(taxonomy: Taxonomy, nodes: list[int]) -> list[Node]:
    """The given nodes as the nested items of Label Studio's tag Taxonomy; in a graph below their first parent."""
    items: dict[int, Node] = {node: {"value": taxonomy.names[node], "isLeaf": True} for node in nodes}
    tops: list[Node] = []
    for node in nodes:
        parents = [parent for parent in taxonomy.parent_lists.list(node).tolist() if parent in items]
        if parents:
            items[parents[0]]["isLeaf"] = False
        (items[parents[0]].setdefault("children", []) if parents else tops).append(items[node])
    return tops
