import numpy as np
from hypothesis import given

from hiercos import Taxonomy
from hiercos.taxonomy import LabelReader, label_indices, node_classes
from trees import taxonomies


@given(taxonomies())
def test_label_indices_are_read_back_as_the_same_nodes(taxonomy: Taxonomy) -> None:
    nodes = np.arange(taxonomy.num_nodes)
    indices = label_indices(nodes, taxonomy)
    assert LabelReader(taxonomy).read(indices, source="y", inner=True).tolist() == nodes.tolist()
    classes = {node: label for label, node in enumerate(taxonomy.leaves.tolist())}
    assert indices.tolist() == [classes.get(node, taxonomy.num_classes + node) for node in nodes.tolist()]


@given(taxonomies())
def test_the_classes_of_the_leaves_are_in_order(taxonomy: Taxonomy) -> None:
    assert node_classes(taxonomy.leaves, taxonomy).tolist() == list(range(taxonomy.num_classes))
