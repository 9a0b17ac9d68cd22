import pytest
import torch
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.losses.paths import LabelPaths
from trees import TOY, taxonomies


@settings(deadline=None)
@given(taxonomies())
def test_paths_lead_to_every_class_and_node(taxonomy: Taxonomy) -> None:
    ends = [*taxonomy.leaves.tolist(), *range(taxonomy.num_nodes)]
    nodes, mask = LabelPaths(taxonomy, inner=True)(torch.arange(len(ends)))
    for end, row, has_level in zip(ends, nodes.tolist(), mask.tolist(), strict=True):
        path = list(taxonomy.path(end))
        missing = taxonomy.height - len(path)
        assert row == path + [end] * missing
        assert has_level == [True] * len(path) + [False] * missing


@settings(deadline=None, max_examples=20)
@given(taxonomies())
def test_class_labels_have_the_same_paths_with_and_without_inner_labels(taxonomy: Taxonomy) -> None:
    labels = torch.arange(taxonomy.num_classes)
    for plain, mixed in zip(LabelPaths(taxonomy)(labels), LabelPaths(taxonomy, inner=True)(labels), strict=True):
        assert torch.equal(plain, mixed)


def test_an_inner_node_is_refused_by_its_label_where_only_classes_are_taken() -> None:
    with pytest.raises(IndexError, match=r"^expected labels from 0 to 2, got 3$"):
        LabelPaths(TOY)(torch.tensor([1, 3, 4]))
