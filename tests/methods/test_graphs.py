import pytest
import torch

from hiercos import Taxonomy
from hiercos.methods import METHODS, MethodError, build_method
from trees import TOY

FISH = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])
FLAT = {"centroids", "cross-entropy", "cross-entropy-mlp", "flat-committee", "gaussian", "linear-svm", "logistic"}
FOR_GRAPHS = {"c-hmcnn", "committee", "hier-cos", "one-vs-rest", "path-softmax", "soft-labels", "tree-logistic", *FLAT}


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_works_on_graphs_or_says_that_it_needs_a_tree(name: str) -> None:
    METHODS.check_taxonomy(name, TOY)
    if name not in FOR_GRAPHS:
        with pytest.raises(MethodError, match=f"method '{name}' needs a tree, got a graph with 1 node of several par"):
            build_method(name, FISH, 4, {})
        return
    method = build_method(name, FISH, 4, {})
    outputs, labels = method.head(torch.randn(3, 4)), torch.tensor([0, 1, 2])
    if method.solver is None:
        method.loss(outputs, labels).backward()
    assert method.class_scores(outputs).shape == (3, 3)
    assert method.node_scores(outputs).shape == (3, 5)
    if METHODS.traits(name).inner_labels:
        assert torch.isfinite(method.loss(outputs, torch.tensor([3, 4, 0])))
