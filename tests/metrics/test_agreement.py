"""Other packages where their definitions coincide with ours: scikit-learn's NDCG, hiclass's hP, hR and hF."""

import hiclass.metrics
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from hiercos import Taxonomy
from hiercos.metrics import functional as HF
from hiercos.metrics.functional.retrieval import longest_leaf_path
from hiercos.taxonomy.distances import hop_distance_block
from trees import TOY17, ancestor_sets, graphs, random_tree, taxonomies


@pytest.mark.parametrize("k", [None, 1, 5, 12])
@pytest.mark.parametrize("taxonomy", [TOY17, random_tree(3)])
def test_ndcg_equals_scikit_learn_with_the_same_relevance(taxonomy: Taxonomy, k: int | None) -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.rand(30, taxonomy.num_classes, generator=generator)
    labels = torch.randint(taxonomy.num_classes, (30,), generator=generator)
    edges = hop_distance_block(taxonomy, np.arange(taxonomy.num_classes))
    relevance = (1 - edges / edges.max())[labels.numpy()]
    expected = ndcg_score(relevance, scores.numpy(), k=k)
    assert HF.ndcg(scores, labels, taxonomy, k).mean().item() == pytest.approx(expected, abs=1e-12)
    assert longest_leaf_path(taxonomy) == edges.max()


@pytest.mark.parametrize("taxonomy", [TOY17, random_tree(4)])
def test_precision_recall_and_f1_equal_hiclass_averaged_over_samples(taxonomy: Taxonomy) -> None:
    generator = torch.Generator().manual_seed(2)
    scores = torch.rand(60, taxonomy.num_classes, generator=generator)
    labels = torch.randint(taxonomy.num_classes, (60,), generator=generator)
    related = HF.hierarchical_recall(scores, labels, taxonomy) > 0  # hiclass divides by zero where F1 is 0
    scores, labels = scores[related], labels[related]
    assert len(labels) > 5

    def paths(classes: torch.Tensor) -> np.ndarray:
        table = taxonomy.path_table(taxonomy.leaves[classes.numpy()])
        return np.where(table < 0, "", table.astype(str))

    truth, answers = paths(labels), paths(scores.argmax(dim=1))
    for ours, theirs in (
        (HF.hierarchical_precision, hiclass.metrics.precision),
        (HF.hierarchical_recall, hiclass.metrics.recall),
        (HF.hierarchical_f1, hiclass.metrics.f1),
    ):
        expected = theirs(truth, answers, average="macro")
        assert ours(scores, labels, taxonomy).mean().item() == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(taxonomies() | graphs(), st.integers(0, 2**16))
def test_precision_recall_and_f1_count_the_shared_ancestors(taxonomy: Taxonomy, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(5, taxonomy.num_classes, generator=generator)
    labels = torch.randint(taxonomy.num_classes, (5,), generator=generator)
    above = ancestor_sets(taxonomy)
    true, answers = ([above[taxonomy.leaves[each]] for each in part] for part in (labels, scores.argmax(dim=1)))
    both = [len(one & other) for one, other in zip(true, answers, strict=True)]
    recall, precision = ([n / len(own) for n, own in zip(both, part, strict=True)] for part in (true, answers))
    f1 = [2 * n / (len(one) + len(other)) for n, one, other in zip(both, true, answers, strict=True)]
    assert HF.hierarchical_precision(scores, labels, taxonomy).tolist() == pytest.approx(precision)
    assert HF.hierarchical_recall(scores, labels, taxonomy).tolist() == pytest.approx(recall)
    assert HF.hierarchical_f1(scores, labels, taxonomy).tolist() == pytest.approx(f1)


def test_precision_at_k_is_the_mean_over_the_first_k() -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("car",)])
    scores, cat, car = torch.tensor([[0.5, 0.2, 0.3]]), torch.tensor([0]), torch.tensor([2])
    assert HF.hierarchical_precision(scores, cat, taxonomy, k=3).item() == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert HF.hierarchical_recall(scores, cat, taxonomy, k=3).item() == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert HF.hierarchical_recall(scores, car, taxonomy, k=2).item() == pytest.approx(1 / 2)
    assert HF.hierarchical_f1(scores, car, taxonomy, k=2).item() == pytest.approx(1 / 2)
