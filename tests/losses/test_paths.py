import torch
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.losses.paths import path_nodes
from trees import taxonomies


@settings(deadline=None)
@given(taxonomies())
def test_path_nodes_lead_to_each_leaf(taxonomy: Taxonomy) -> None:
    leaves, parents = torch.tensor(taxonomy.leaves), torch.tensor(taxonomy.parents)
    found = path_nodes(leaves, torch.tensor(taxonomy.depths)[leaves], parents, taxonomy.height)
    for leaf, row in zip(taxonomy.leaves.tolist(), found.tolist(), strict=True):
        path = list(taxonomy.path(leaf))
        assert row == path + [leaf] * (taxonomy.height - len(path))
