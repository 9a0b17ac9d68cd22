import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.methods import METHODS, MethodError
from trees import TOY, descendant_sets, graphs, taxonomies


@settings(deadline=None, max_examples=40)
@given(st.one_of(taxonomies(), graphs()), st.integers(0, 1000))
def test_a_node_scores_the_largest_sigmoid_at_or_below_it(taxonomy: Taxonomy, seed: int) -> None:
    method, logits = METHODS["c-hmcnn"](taxonomy, 3), normal(2, taxonomy.num_nodes, seed=seed)
    scores, sigmoids = method.node_scores(logits), logits.sigmoid()
    for node, below in enumerate(descendant_sets(taxonomy)):
        assert torch.equal(scores[:, node], sigmoids[:, sorted(below)].amax(dim=1))
    assert torch.equal(method.class_scores(logits), logits[:, taxonomy.leaves.tolist()])


def test_methods_that_need_one_label_name_the_one_that_learns_from_several() -> None:
    sets = torch.tensor([[2, 4], [3, -1]])
    METHODS.check_label_sets("c-hmcnn", sets)
    METHODS.check_label_sets("hier-cos", None)
    expected = "got several for 1 of 2; methods that learn from several: c-hmcnn"
    with pytest.raises(MethodError, match=f"method 'hier-cos' needs one label for every training sample, {expected}"):
        METHODS.check_label_sets("hier-cos", sets)


def test_two_labels_are_learnt_together() -> None:
    torch.manual_seed(0)
    features = torch.eye(3).repeat(8, 1)  # a cat in a car, a dog, a car
    labels = torch.tensor([[2, 4], [3, -1], [4, -1]]).repeat(8, 1)
    method = METHODS["c-hmcnn"](TOY, 3, width=None, dropout=0.0)
    optimizer = torch.optim.Adam(method.head.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        method.loss(method.head(features), labels).backward()
        optimizer.step()
    scores = method.node_scores(method.head(torch.eye(3)))
    assert (scores > 0.5).int().tolist() == [[1, 1, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1]]
