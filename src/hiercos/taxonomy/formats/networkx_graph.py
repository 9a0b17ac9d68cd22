"""Taxonomies and networkx directed graphs, in both directions; ontologies in OBO files are read as such graphs."""

import io
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hiercos.errors import reading
from hiercos.taxonomy.build import NodeTable
from hiercos.taxonomy.checks import TaxonomyError, repeated
from hiercos.taxonomy.tree import Taxonomy

if TYPE_CHECKING:
    from networkx import DiGraph

ROOT = "root"
OBO_TERM = re.compile(r"^\[Term\][^\[]*?^id:\s*(\S+)", re.MULTILINE)
OBO_LAST_HEADER = "\n\nontology: any\n"  # obonet uses the last header, and warns on stderr if it names no ontology


def to_networkx(taxonomy: Taxonomy) -> "DiGraph[int]":
    """Convert the taxonomy to a DiGraph with one root and edges from parent to child.

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
    values = {node: {"name": node, **graph.nodes[node]} for node in graph}
    tops = [node for node, above in parents.items() if not above]
    root = tops if len(tops) == 1 < len(graph) and str(values[tops[0]]["name"]) == ROOT else []
    return _tree(parents, values, root)


def _tree(
    parents: Mapping[Any, Sequence[Any]], values: Mapping[Any, Mapping[str, Any]], root: Collection[Hashable] = ()
) -> Taxonomy:
    """The taxonomy of nodes by their parents and attributes, without the nodes in `root`."""
    index = {node: number for number, node in enumerate(node for node in parents if node not in root)}
    nodes = NodeTable()
    for node in index:
        above = [index[parent] for parent in parents[node] if parent not in root]
        own = values[node]
        nodes.add(above, str(own["name"]), str(own.get("id", "")), label=own.get("class"))
    return nodes.tree([])


def read_obo(text: str) -> Taxonomy:
    """Read the terms of an ontology with their ids, by obonet; `is_a` names the parents, obsolete terms are left out.

    Raises:
        TaxonomyError: if obonet is missing or cannot read the text, if there are no terms, for a repeated id, and for
            a parent that is not a term.
    """
    try:
        import obonet
    except ImportError as error:
        raise TaxonomyError("reading OBO needs obonet: pip install 'hiercos[obo]'") from error
    ids = OBO_TERM.findall(text)
    if faults := [f"id {given_id!r} is that of {count} terms: expected it once" for given_id, count in repeated(ids)]:
        raise TaxonomyError(faults)
    with reading("not OBO that obonet can read", TaxonomyError):
        graph = obonet.read_obo(io.StringIO(text + OBO_LAST_HEADER), ignore_obsolete=False)
    known = set(ids)
    values = {
        term: {"name": given.get("name") or term, "id": term}
        for term, given in graph.nodes(data=True)
        if (given or term in known) and given.get("is_obsolete") != "true"  # the others are only pointed at
    }
    parents = {
        term: [above for _, above, kind in graph.out_edges(term, keys=True) if kind == "is_a"] for term in values
    }
    faults = [
        f"{term} ({values[term]['name']!r}) is below {parent}, which is not a term of the file"
        for term, above in parents.items()
        for parent in above
        if parent not in values
    ]
    if faults or not values:
        raise TaxonomyError(faults or "expected terms ([Term]), got none")
    return _tree(parents, values)
