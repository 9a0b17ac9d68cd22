import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.geometry import target_nodes
from hiercos.taxonomy import nodes_of_labels, set_targets
from trees import graphs, taxonomies


@settings(deadline=None)
@given(st.one_of(taxonomies(), graphs()), st.integers(0, 1000))
def test_the_nodes_are_those_of_the_same_function_on_arrays(taxonomy: Taxonomy, seed: int) -> None:
    sets = torch.randint(-1, taxonomy.num_nodes, (6, 3), generator=torch.Generator().manual_seed(seed))
    for found, expected in zip(target_nodes(sets, taxonomy), set_targets(sets.numpy(), taxonomy), strict=True):
        assert found.tolist() == expected.tolist()


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_labels_of_every_kind_are_sets_of_one_node(taxonomy: Taxonomy) -> None:
    labels = torch.arange(taxonomy.num_classes + taxonomy.num_nodes + 1)  # classes, nodes and the root
    nodes = torch.tensor(nodes_of_labels(labels.numpy(), taxonomy))[:, None]
    for single, several in zip(target_nodes(labels, taxonomy), target_nodes(nodes, taxonomy), strict=True):
        assert torch.equal(single, several)
