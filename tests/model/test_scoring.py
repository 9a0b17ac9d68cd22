import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from hiercos import Taxonomy
from hiercos.encoders import SingleDevice, VectorSamples
from hiercos.methods import METHODS, Model, SparseMatrix
from hiercos.methods.centroids import CentroidHead
from hiercos.methods.linear.sibling_problems import TreeWeights
from hiercos.methods.one_vs_rest import OneVsRestHead
from hiercos.methods.siblings import SiblingHead
from hiercos.model import sample_scores, score_batches
from trees import random_tree

ROWS, CPU = 300, SingleDevice("cpu")


GRAPH = Taxonomy.from_edges(
    [(f"{name} {leaf % count}", f"class {leaf}") for leaf in range(90) for name, count in (("part", 3), ("kind", 7))]
    + [(f"part {part}", f"class {100 + part}") for part in range(3)]
    + [("whole", "part 0"), ("whole", "kind 1")]
)


def untrained(method: str, width: int, leaves: int) -> Model:
    """A model whose weights are drawn from a seed, also those that begin at 0."""
    return seeded(Model(random_tree(width, leaves), width, method), width)


def seeded(model: Model, width: int) -> Model:
    """The model with weights that are drawn from a seed."""
    generator = torch.Generator().manual_seed(width)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    if isinstance(model.head, SiblingHead):
        drawn = torch.randn(width, model.taxonomy.num_nodes, generator=generator).numpy()
        seen = np.ones(drawn.shape[1], np.bool_)
        model.head.set(model.taxonomy.parents, TreeWeights(np.asfortranarray(drawn), drawn[0].copy(), seen))
    if isinstance(model.head, OneVsRestHead):
        drawn = torch.randn(width, model.taxonomy.num_nodes, generator=generator).numpy()
        model.head.set_weights(drawn, bias=drawn[0].copy())
    if isinstance(model.head, CentroidHead):
        model.head.set_weights(torch.randn(width, model.taxonomy.num_classes, generator=generator).numpy())
    return model


def scores(model: Model, features: torch.Tensor | SparseMatrix, at_once: int) -> torch.Tensor:
    found = list(score_batches(CPU, model, VectorSamples(features, at_once=at_once), nodes=True))
    tables = [[each.classes, each.nodes, each.evidence] for each in found]
    return torch.cat([torch.cat([table for table in part if table is not None], dim=1) for part in tables])


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize(("width", "leaves"), [(7, 4), (22, 17), (37, 9)])
def test_the_scores_of_a_row_depend_neither_on_its_place_nor_on_its_batch(method: str, width: int, leaves: int) -> None:
    model = untrained(method, width, leaves)
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(0))
    features = torch.randn(ROWS, width, generator=torch.Generator().manual_seed(1))
    expected = scores(model, features, 1024)
    assert torch.equal(scores(model, features[order], 1024), expected[order])
    assert torch.equal(scores(model, features, 7), expected)
    assert torch.equal(scores(model, features[5:6], 1), expected[5:6])
    assert not torch.equal(expected[0], expected[1])


@pytest.mark.parametrize("taxonomy", [random_tree(7, 4), random_tree(22, 17), random_tree(3, 151), GRAPH])
def test_nor_do_those_of_the_probabilities_of_hier_cos(taxonomy: Taxonomy) -> None:
    model = seeded(Model(taxonomy, 22, "hier-cos", {"width": 33, "reading": "shares"}), 22)
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(0))
    features = torch.randn(ROWS, 22, generator=torch.Generator().manual_seed(1))
    expected = scores(model, features, 1024)
    assert expected.shape[1] == 2 * taxonomy.num_classes + taxonomy.num_nodes
    assert torch.equal(scores(model, features[order], 1024), expected[order])
    assert torch.equal(scores(model, features, 7), expected)
    assert torch.equal(scores(model, features[5:6], 1), expected[5:6])
    whole = sample_scores(CPU, model, VectorSamples(features, at_once=7)).of_probabilities
    np.testing.assert_array_equal(whole, expected[:, -taxonomy.num_classes :])


@pytest.mark.parametrize("method", ["logistic", "tree-logistic", "linear-svm"])
def test_nor_do_those_of_a_sparse_row(method: str) -> None:
    model = untrained(method, 40, 9)
    values = np.random.default_rng(0).random((ROWS, 40), dtype=np.float32)
    matrix = csr_matrix(np.where(values < 0.3, values, 0))
    order = np.random.default_rng(1).permutation(ROWS)
    expected = scores(model, matrix, 1024)
    assert torch.equal(scores(model, matrix[order], 1024), expected[torch.from_numpy(order)])
    assert torch.equal(scores(model, matrix, 7), expected)


def test_a_batch_is_scored_in_full_blocks_and_energies_stand_beside_the_scores() -> None:
    model = untrained("hier-cos", 5, 4)
    samples = VectorSamples(torch.randn(260, 5, generator=torch.Generator().manual_seed(2)))
    (found,) = score_batches(CPU, model, samples, energies=True)
    assert found.nodes is None
    assert found.energies is not None
    assert len(found.classes) == len(found.energies) == 260
    torch.testing.assert_close(found.energies.sum(dim=1), torch.ones(260))
    assert not torch.is_inference_mode_enabled()
