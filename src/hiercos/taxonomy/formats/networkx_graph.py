"""Conversion between taxonomies and networkx directed graphs with edges from parent to child."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from hiercos.taxonomy import Taxonomy, TaxonomyError
from hiercos.taxonomy.build import NodeTable

if TYPE_CHECKING:
    from networkx import DiGraph

ROOT = "root"


def to_networkx(taxonomy: Taxonomy) -> "DiGraph[int]":
    """Convert the taxonomy to a DiGraph with one root.

    The graph's nodes are the node indices of the taxonomy, and -1 for the root, named `root`. Every node has the
    attribute `name`, nodes with an id have `id`, and leaves have `class`, their class index.

    Example:
        >>> graph = to_networkx(Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]))
        >>> sorted(graph.successors(-1))  # pet and vehicle
        [0, 1]
    """
    import networkx

    graph: DiGraph[int] = networkx.DiGraph()
    graph.add_node(-1, name=ROOT)
    for node, name in enumerate(taxonomy.names):
        graph.add_node(node, name=name)
        graph.add_edges_from((parent, node) for parent in taxonomy.parent_lists.list(node).tolist() or [-1])
    for node in (node for node, given_id in enumerate(taxonomy.ids) if given_id):
        graph.nodes[node]["id"] = taxonomy.ids[node]
    for label, leaf in enumerate(taxonomy.leaves.tolist()):
        graph.nodes[leaf]["class"] = label
    return graph


def from_networkx(graph: "DiGraph[Any]") -> Taxonomy:
    """Convert a directed graph with edges from parent to child; use `graph.reverse()` for edges from child to parent.

    A node's name is its attribute `name`, else the node itself as text; `id` is its id, and `class` the class index of
    a leaf. Without class indices the classes are the leaves in graph order. A single node at the top that is named
    `root` and has children is the root. Nodes with several parents make it a directed acyclic graph.

    Raises:
        TaxonomyError: for an undirected graph, a cycle, and every fault of the nodes.
    """
    if not graph.is_directed():
        raise TaxonomyError("expected a directed graph, edges from parent to child, got an undirected one")
    parents = {node: list(graph.predecessors(node)) for node in graph}
    root = _root(graph, [node for node, above in parents.items() if not above])
    kept = [node for node in graph if node not in root]
    index = {node: number for number, node in enumerate(kept)}
    table = NodeTable()
    for node in kept:
        values = graph.nodes[node]
        above = [index[parent] for parent in parents[node] if parent not in root]
        added = table.add(above[0] if above else -1, *_texts(node, values), values.get("class"))
        if len(above) > 1:
            table.further[added] = above[1:]
    return table.tree([])


def _root(graph: "DiGraph[Any]", tops: list[Any]) -> set[Hashable]:
    """The set of the single top node if it is the root, else empty."""
    if len(tops) == 1 and _texts(tops[0], graph.nodes[tops[0]])[0] == ROOT and len(graph) > 1:
        return {tops[0]}
    return set()


def _texts(node: Any, values: dict[str, Any]) -> tuple[str, str]:
    """The name and the id of a node."""
    return str(values.get("name", node)), str(values.get("id", ""))
