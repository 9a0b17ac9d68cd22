"""Flamingo and HAFeat: one classifier a level."""

import copy

import pytest
import torch

from hiercos import Taxonomy, load_taxonomy
from hiercos.methods import METHODS, Model

UNEVEN = Taxonomy.from_paths([("pet", "dog"), ("car",), ("pet", "cat")])  # nodes pet, car, dog, cat
LEVEL_METHODS = ("flamingo-1", "flamingo-2", "hafeat-1", "hafeat-2")


@pytest.mark.parametrize("name", LEVEL_METHODS)
def test_classes_come_from_the_deepest_head_and_nodes_each_from_their_own(name: str) -> None:
    method = METHODS[name](UNEVEN, in_features=4)
    # columns: pet, car at level 1; car (which ended above), dog, cat at level 2
    outputs = torch.tensor([[1.0, 2.0, 30.0, 40.0, 50.0]])
    assert method.class_scores(outputs).tolist() == [[40.0, 30.0, 50.0]]  # dog, car, cat
    assert method.node_scores(outputs).tolist() == [[1.0, 2.0, 40.0, 50.0]]


def test_the_loss_of_a_copied_model_reads_the_rows_of_the_copy() -> None:
    model = Model(UNEVEN, 4, "hafeat-1")
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.head[1].linear.weight.copy_(torch.randn_like(other.head[1].linear.weight))
    assert torch.equal(other.loss.rows(), other.head[1].unit_rows())
    assert not torch.equal(other.loss.rows(), model.loss.rows())


def test_the_classifier_is_saved_once() -> None:
    keys = [key for key in Model(UNEVEN, 4, "hafeat-1").state_dict() if "weight" in key]
    assert keys == ["head.1.linear.weight"]


def test_the_closeness_of_the_rows_is_learnt() -> None:
    method = METHODS["hafeat-1"](UNEVEN, in_features=4)
    method.loss(method.head(torch.zeros(2, 4)), torch.tensor([0, 1])).backward()  # features that teach nothing
    assert method.head[1].linear.weight.grad.any()


@pytest.mark.parametrize(("name", "count"), [("flamingo-1", 19_682), ("hafeat-1", 68_742)])
def test_heads_for_cifar100_have_as_many_weights_as_published(name: str, count: int) -> None:
    head = METHODS[name](load_taxonomy("cifar100"), in_features=512).head
    assert sum(weight.numel() for weight in head.parameters()) == count
