import pytest
import torch
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.geometry import label_nodes, label_rows
from trees import TOY, taxonomies


@settings(deadline=None, max_examples=30)
@given(taxonomies())
def test_a_label_is_a_class_or_any_node(taxonomy: Taxonomy) -> None:
    classes = torch.arange(taxonomy.num_classes)
    assert label_nodes(classes, taxonomy).tolist() == taxonomy.leaves.tolist()
    every = torch.arange(taxonomy.num_classes + taxonomy.num_nodes)
    assert label_nodes(every, taxonomy, inner=True).tolist() == [*taxonomy.leaves, *range(taxonomy.num_nodes)]


@pytest.mark.parametrize(("inner", "last"), [(False, 2), (True, 7)])
def test_the_first_label_that_is_none_is_named(inner: bool, last: int) -> None:
    with pytest.raises(IndexError, match=f"^expected labels from 0 to {last}, got 9$"):
        label_nodes(torch.tensor([0, 9, -1]), TOY, inner=inner)


def test_rows_of_a_table_are_taken_by_label() -> None:
    assert label_rows(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 0, 1])).tolist() == [[3, 4], [1, 2], [3, 4]]
