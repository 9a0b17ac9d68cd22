"""Taxonomies as directed graphs of networkx, edges from parent to child, and back."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from hiercos.taxonomy import Taxonomy, TaxonomyError
from hiercos.taxonomy.build import FoundNodes

if TYPE_CHECKING:
    from networkx import DiGraph

ROOT = "root"


def to_networkx(taxonomy: Taxonomy) -> "DiGraph[int]":
    """The tree as a DiGraph with one root.

    Its nodes are the numbers of the taxonomy's nodes, and -1 for the root, which is called `root`. Every node has the
    attribute `name`, those with an id `id`, and the leaves `class`, their class index.

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
        graph.add_edge(int(taxonomy.parents[node]), node)
    for node in (node for node, given_id in enumerate(taxonomy.ids) if given_id):
        graph.nodes[node]["id"] = taxonomy.ids[node]
    for label, leaf in enumerate(taxonomy.leaves.tolist()):
        graph.nodes[leaf]["class"] = label
    return graph


def from_networkx(graph: "DiGraph[Any]") -> Taxonomy:
    """The taxonomy of a directed graph with edges from parent to child; `graph.reverse()` turns others round.

    A node's name is its attribute `name`, else the node itself as text; `id` is its id, and `class` the class index of
    a leaf. Without these numbers the classes are the leaves in the order of the graph. A lone node at the top that is
    called `root` and has children is the root.

    Raises:
        TaxonomyError: for an undirected graph, every node with several parents, cycles, and whatever is no taxonomy.
    """
    if not graph.is_directed():
        raise TaxonomyError("expected a directed graph, edges from parent to child, got an undirected one")
    parents = {node: list(graph.predecessors(node)) for node in graph}
    faults = [
        f"node {node!r} has {len(above)} parents, {', '.join(map(repr, above))}: expected one"
        for node, above in parents.items()
        if len(above) > 1
    ]
    root = _root(graph, [node for node, above in parents.items() if not above])
    kept = [node for node in graph if node not in root]
    place = {node: number for number, node in enumerate(kept)}
    found = FoundNodes()
    for node in kept:
        values = graph.nodes[node]
        parent = next(iter(parents[node]), None)
        found.add(place.get(parent, -1) if parents[node] else -1, *_texts(node, values), values.get("class"))
    return found.tree(faults)


def _root(graph: "DiGraph[Any]", tops: list[Any]) -> set[Hashable]:
    """The lone top if it stands for the root."""
    if len(tops) == 1 and _texts(tops[0], graph.nodes[tops[0]])[0] == ROOT and len(graph) > 1:
        return {tops[0]}
    return set()


def _texts(node: Any, values: dict[str, Any]) -> tuple[str, str]:
    """The name and the id of a node."""
    return str(values.get("name", node)), str(values.get("id", ""))
