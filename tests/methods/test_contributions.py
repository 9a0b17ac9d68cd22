"""Contributions to the difference of two class scores: they sum to it, with what an input of zeros gives."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from hiercos.methods import METHODS, Comparison, LabelledFeatures, Model, Projection, csr_tensor
from solving import data, solved
from trees import TOY17

CLASSES = torch.arange(1, TOY17.num_classes)
RIVALS = CLASSES - 1
TRAIN = data(TOY17, 300)


def differences(model: Model, inputs: Tensor) -> Tensor:
    """Scores of the classes less those of the rivals for one input, shape (P,)."""
    with torch.inference_mode():
        scores = model.eval().class_scores(model(inputs))[0].double()
    return scores[CLASSES] - scores[RIVALS]


def contributed(model: Model, columns: Tensor, values: Tensor) -> Tensor:
    """The sums of the contributions to each pair, shape (P,)."""
    found = model.contributions(Comparison(columns, values, CLASSES, RIVALS))
    assert found is not None
    assert found.shape == (len(CLASSES), len(columns))
    return found.double().sum(dim=1)


@pytest.mark.parametrize("name", ["logistic", "tree-logistic", "linear-svm", "gaussian", "cross-entropy", "centroids"])
def test_contributions_of_linear_heads_sum_to_the_difference_of_scores(name: str) -> None:
    if METHODS[name](TOY17, in_features=3).solver is None:
        model = Model(TOY17, TRAIN.features.shape[1], name).eval()
        model.standardize.fit(torch.tensor(TRAIN.features))
    else:
        model, _ = solved(name, TOY17, TRAIN, None)
    row = torch.tensor(TRAIN.features[5])
    nothing = torch.zeros_like(row) if model.raw_inputs else model.standardize.mean
    expected = differences(model, row[None]) - differences(model, nothing[None])
    torch.testing.assert_close(contributed(model, torch.arange(len(row)), row), expected, atol=1e-4, rtol=1e-4)
    assert expected.abs().max() > 0.1


def test_contributions_to_path_sums_go_back_through_a_projection() -> None:
    torch.manual_seed(0)
    sparse = csr_matrix(np.where(np.abs(TRAIN.features) < 1, 0, TRAIN.features))
    projection = Projection.fit(sparse, 4, 0)
    model = Model(TOY17, projection.num_features, "path-softmax", {"width": None}, projection=projection).eval()
    model.standardize.fit(projection(csr_tensor(sparse)))
    row, nothing = csr_tensor(sparse[[5]]), csr_tensor(csr_matrix((1, sparse.shape[1]), dtype=np.float32))
    expected = differences(model, row) - differences(model, nothing)
    torch.testing.assert_close(contributed(model, row.col_indices(), row.values()), expected, atol=1e-4, rtol=1e-4)
    assert expected.abs().max() > 0.01


def node_differences(model: Model, row: Tensor) -> Tensor:
    """Log-odds of the two siblings at which the paths of each pair part, shape (P,)."""
    with torch.inference_mode():
        nodes = model.node_scores(model(row))[0].double().log()
    own, others = (TOY17.path_table(TOY17.leaves[classes.numpy()]) for classes in (CLASSES, RIVALS))
    pairs, parting = np.arange(len(own)), (own != others).argmax(axis=1)
    return nodes[own[pairs, parting]] - nodes[others[pairs, parting]]


@pytest.mark.parametrize("is_sparse", [True, False])
def test_contributions_of_siblings_sum_to_the_log_odds_of_the_two_at_which_paths_part(*, is_sparse: bool) -> None:
    features = csr_matrix(TRAIN.features) if is_sparse else TRAIN.features
    model, _ = solved("siblings", TOY17, LabelledFeatures(features, TRAIN.labels), None, strength=0.5)
    row = torch.tensor(TRAIN.features[[5]])
    expected = node_differences(model, row) - node_differences(model, torch.zeros_like(row))
    found = contributed(model, torch.arange(row.shape[1]), row[0])
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)


def test_contributions_of_a_committee_are_those_of_its_linear_members() -> None:
    members = ("tree-logistic", "linear-svm", "cross-entropy-mlp")
    model = Model(TOY17, TRAIN.features.shape[1], "committee", {"members": members}).eval()
    committee = model.head
    committee.weights = torch.tensor([0.5, 0.25, 0.25])
    row = torch.tensor(TRAIN.features[5])
    for member, name in zip(committee.models()[:2], members[:2], strict=True):
        member.load_state_dict(solved(name, TOY17, TRAIN, None)[0].state_dict())
    columns = torch.arange(len(row))
    first, second, none = (
        member.contributions(Comparison(columns, row, CLASSES, RIVALS)) for member in committee.models()
    )
    assert first is not None
    assert second is not None
    assert none is None
    torch.testing.assert_close(contributed(model, columns, row), (first / 2 + second / 4).double().sum(dim=1))


def test_a_method_whose_scores_are_no_sums_has_no_contributions() -> None:
    model = Model(TOY17, 4, "cross-entropy-mlp").eval()
    assert model.contributions(Comparison(torch.arange(4), torch.ones(4), CLASSES, RIVALS)) is None
