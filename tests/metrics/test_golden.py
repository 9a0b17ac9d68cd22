"""The published code's numbers on four trees, and the trees themselves."""

import csv
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from hiercos import Taxonomy
from hiercos.metrics import default_suite
from hiercos.metrics import functional as HF
from hiercos.metrics.functional.hops import worst_disorder
from hiercos.metrics.rank_tables import disorder_of_reverse, rank_tables
from trees import shared

NAMES = ("cifar100", "fgvc_aircraft", "inaturalist19", "tiered_imagenet_h")


@cache
def tree(name: str) -> Taxonomy:
    """A tree of the shared folder, classes in its order."""
    with shared("hierarchies", f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Taxonomy.from_paths(
        [tuple(row[f"level_{level}"] for level in range(1, int(row["depth"]) + 1)) for row in rows]
    )


@cache
def numbers(name: str) -> dict[str, np.ndarray]:
    """The arrays of one golden file."""
    with np.load(shared("golden", f"{name}_metrics.npz"), allow_pickle=False) as arrays:
        return dict(arrays)


def inputs(name: str) -> tuple[Tensor, Tensor]:
    """Scores and labels of one golden file."""
    return torch.tensor(numbers(name)["scores"]), torch.tensor(numbers(name)["labels"])


@pytest.mark.parametrize("name", NAMES)
def test_hops_equals_the_published_code_on_every_sample(name: str) -> None:
    golden, scores, labels = numbers(name), *inputs(name)
    for key, k in (("hops", None), ("hops_at_5", 5), ("hops_at_20", 20)):
        np.testing.assert_allclose(HF.hops(scores, labels, tree(name), k).numpy(), golden[key], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_distances_and_top1_equal_the_published_code(name: str) -> None:
    golden, scores, labels = numbers(name), *inputs(name)
    for k in (1, 5, 20):
        distances = HF.average_hierarchical_distance(scores, labels, tree(name), k)
        np.testing.assert_allclose(distances.numpy(), golden[f"ahd_at_{k}"], rtol=0, atol=1e-12)
    assert HF.mistake_severity(scores, labels, tree(name)).item() == pytest.approx(
        golden["mistake_severity"], abs=1e-12
    )
    assert HF.top_k_accuracy(scores, labels, tree(name)).double().mean().item() == golden["top1"]


@pytest.mark.parametrize("name", NAMES)
def test_correct_order_equals_the_published_code_on_every_sample(name: str) -> None:
    golden, scores, labels = numbers(name), *inputs(name)
    for k in (1, 3, 5, 10, 20, 50):
        order = HF.correct_order(scores, labels, tree(name), k)
        np.testing.assert_array_equal(order.numpy(), golden[f"correct_order_at_{k}"])
    np.testing.assert_array_equal(HF.correct_order(scores, labels, tree(name)).numpy(), golden["correct_order_all"])


@pytest.mark.parametrize("name", NAMES)
def test_the_suite_holds_the_means_of_the_published_code(name: str) -> None:
    golden, scores, labels = numbers(name), *inputs(name)
    suite = default_suite(tree(name))
    suite.update(scores, labels)
    result = suite.compute()
    shared_names = set(golden) - {"scores", "labels"}
    assert shared_names <= set(result)
    for key in shared_names:
        assert result[key].item() == pytest.approx(golden[key].mean(), abs=1e-12), key


@pytest.mark.parametrize(
    ("name", "mean", "largest"),
    list(zip(NAMES, (1.07, 1.33, 1.07, 1.04), (1.21, 1.49, 1.51, 1.41), strict=True)),
)
def test_the_true_worst_order_is_worse_than_the_reversed_one(name: str, mean: float, largest: float) -> None:
    taxonomy = tree(name)
    known, labels = rank_tables(taxonomy, torch.device("cpu")), torch.arange(taxonomy.num_classes)
    reverse = disorder_of_reverse(known, labels, taxonomy.num_classes, "zero")
    ratio = worst_disorder(known, labels, taxonomy.num_classes) / reverse
    assert ratio.mean().item() == pytest.approx(mean, abs=0.005)
    assert ratio.max().item() == pytest.approx(largest, abs=0.005)


@pytest.mark.parametrize(("name", "profiles"), list(zip(NAMES, (8, 18, 62, 167), strict=True)))
def test_there_are_few_rank_profiles(name: str, profiles: int) -> None:
    assert len(rank_tables(tree(name), torch.device("cpu")).profiles) == profiles
