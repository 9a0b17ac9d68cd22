import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score

from hiercos import Taxonomy
from hiercos.metrics import functional as HF
from trees import TOY, ancestor_sets, graphs


@settings(deadline=None)
@given(graphs(), st.integers(0, 1000), st.sampled_from([2, 10**6]))
def test_it_is_the_micro_average_of_scikit_learn_on_sets_of_ancestors(taxonomy: Taxonomy, seed: int, grid: int) -> None:
    generator = np.random.default_rng(seed)
    labels = taxonomy.leaves[generator.integers(0, taxonomy.num_classes, size=(6, 2))]
    scores = np.round(generator.random((6, taxonomy.num_nodes)) * grid) / grid  # of a coarse grid, many are equal
    above = ancestor_sets(taxonomy)
    right = [[node in above[one] | above[two] for node in range(taxonomy.num_nodes)] for one, two in labels]
    expected = average_precision_score(np.array(right).reshape(-1), scores.reshape(-1))
    found = HF.average_precision(torch.from_numpy(scores), torch.from_numpy(labels), taxonomy)
    assert float(found) == pytest.approx(expected)


def test_what_is_below_a_label_and_samples_without_one_are_left_out() -> None:
    scores = torch.tensor([[0.9, 0.1, 0.95, 0.2, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    assert float(HF.average_precision(scores, torch.tensor([[0, -1], [-1, -1]]), TOY)) == 1  # some pet, and nothing
    assert float(HF.average_precision(scores, torch.tensor([3, 8]), TOY)) == 1  # C + node, and the root
    assert HF.average_precision(scores, torch.tensor([8, 8]), TOY).isnan()


def test_the_number_of_rows_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    scores, labels = torch.rand(9, 5, generator=generator), torch.randint(0, 8, (9,), generator=generator)
    whole = HF.average_precision(scores, labels, TOY)
    monkeypatch.setattr(sys.modules["hiercos.metrics.functional.retrieval"], "PAIRED_ROWS", 2)
    assert HF.average_precision(scores, labels, TOY) == whole


@pytest.mark.parametrize("scores", [torch.zeros(2, 4), torch.zeros(1, 5), torch.full((2, 5), torch.nan)])
def test_scores_of_another_shape_and_nan_are_refused(scores: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="expected node scores"):
        HF.average_precision(scores, torch.tensor([0, 1]), TOY)


@settings(deadline=None)
@given(graphs(), st.integers(0, 1000))
def test_the_agreement_of_sets_is_that_of_scikit_learn_on_sets_of_ancestors(taxonomy: Taxonomy, seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels = taxonomy.leaves[generator.integers(0, taxonomy.num_classes, size=(6, 2))]
    chosen = generator.random((6, taxonomy.num_nodes)) < 0.5
    above = ancestor_sets(taxonomy)
    right = np.array([[node in above[one] | above[two] for node in range(taxonomy.num_nodes)] for one, two in labels])
    found = HF.set_agreement(torch.from_numpy(chosen), torch.from_numpy(labels), taxonomy)
    assert found["hf1_micro"] == pytest.approx(f1_score(right.ravel(), chosen.ravel(), zero_division=0))
    nodes = [f1_score(right[:, node], chosen[:, node], zero_division=0) for node in np.flatnonzero(right.any(axis=0))]
    assert found["hf1_macro"] == pytest.approx(np.mean(nodes))
    assert found["exact_match"] == (right == chosen).all(axis=1).mean()


def test_the_agreement_leaves_out_what_is_below_a_label_and_samples_without_one() -> None:
    chosen = torch.tensor([[True, False, True, False, False], [True] * 5])
    found = HF.set_agreement(chosen, torch.tensor([[0], [-1]]), TOY)  # some pet, answered as a cat; and nothing
    assert found == {"hf1_micro": 1, "hf1_macro": 1, "exact_match": 1}
