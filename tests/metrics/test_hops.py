"""HOPS against exact fractions: the worked example, and a slow loop written from the definition."""

from fractions import Fraction
from importlib import import_module
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hiercos import Taxonomy
from hiercos.metrics import functional as HF
from hiercos.metrics import rank_tables as tables
from hiercos.metrics.rank_tables import disorder_of_reverse
from trees import TOY17, graphs, slow_distances, taxonomies

D1 = TOY17.class_names.index("D1")
BEST = [0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4]

# obtained ranks: HOPS, HOPS with the paper's tail, @1, @5, @10, AHD@5, AHD@10
WORKED = [
    (BEST, "1", "1", 1, "1", "1", 1.0, 1.9),
    ([0, 3, 3, 3, 3, 2, 2, 1, 1, 1, 3, 3, 3, 4, 4, 4, 4], "2377/3953", ".608593", 1, "0", ".458047", 2.4, 1.9),
    ([0, *BEST[:0:-1]], ".442955", ".437477", 1, "0", ".316369", 3.2, 3.1),
    ([2, 1, 1, 1, 0, *BEST[5:]], ".716671", ".721843", 0, "0", ".614856", 1.0, 1.9),
    ([1, 0, *BEST[2:]], ".830003", ".833106", 0, "2/5", ".768913", 1.0, 1.9),
    (BEST[::-1], "0", "0", 0, "0", "0", 3.8, 3.4),
]


def scores_with_ranks(obtained: list[int], taxonomy: Taxonomy, label: int) -> Tensor:
    """Scores whose order has these preference ranks as seen from a class, shape (1, C)."""
    _, ranks = slow_distances_and_ranks(taxonomy, label)
    waiting = {rank: [c for c, r in enumerate(ranks) if r == rank] for rank in set(ranks)}
    scores = torch.empty(1, len(ranks))
    for place, rank in enumerate(obtained):
        scores[0, waiting[rank].pop()] = -float(place)
    return scores


def slow_distances_and_ranks(taxonomy: Taxonomy, label: int) -> tuple[list[int], list[int]]:
    """Distances of all classes to a label, and their preference ranks."""
    distances = slow_distances(taxonomy)[label]
    distinct = sorted(set(distances))
    return distances, [distinct.index(distance) for distance in distances]


def slow_weights(desired: list[int], tail: str) -> list[Fraction]:
    weights = []
    for position, rank in enumerate(desired):
        top, members = Fraction(1, 2**rank), desired.count(rank)
        bottom = Fraction(0) if tail == "zero" and rank == desired[-1] else top / 2
        weights.append(top - (position - desired.index(rank)) * (top - bottom) / members)
    return weights


def slow_disorder(desired: list[int], obtained: list[int], tail: str, k: int) -> Fraction:
    weights = slow_weights(desired, tail)
    return sum((w * abs(z - o) for w, z, o in list(zip(weights, desired, obtained, strict=True))[:k]), Fraction(0))


def slow_hops(ranks: list[int], order: list[int], k: int | None, variant: str) -> Fraction:
    """The definition, letter by letter; `order` holds classes, best first."""
    tail = "half" if variant == "paper" else "zero"
    desired, obtained = sorted(ranks), [ranks[c] for c in order]
    depth = len(order) if k is None else min(k, len(order))
    if depth == 1:
        return Fraction(int(obtained[0] == 0))
    worst = slow_disorder(desired, desired[:depth][::-1] + desired[depth:], tail, depth)
    value = 1 - slow_disorder(desired, obtained, tail, depth) / worst
    return value if variant == "paper" and k is None else min(Fraction(1), max(Fraction(0), value))


@pytest.mark.parametrize(("obtained", "full", "paper", "at_1", "at_5", "at_10", "ahd_5", "ahd_10"), WORKED)
def test_the_worked_example_of_17_classes(
    obtained: list[int], full: str, paper: str, at_1: int, at_5: str, at_10: str, ahd_5: float, ahd_10: float
) -> None:
    scores, label = scores_with_ranks(obtained, TOY17, D1), torch.tensor([D1])

    def assert_equal(text: str, value: Tensor) -> None:
        tolerance = 5e-7 if text.startswith(".") else 1e-15
        assert value.item() == pytest.approx(float(Fraction(text)), abs=tolerance)

    assert_equal(full, HF.hops(scores, label, TOY17))
    assert_equal(paper, HF.hops(scores, label, TOY17, variant="paper"))
    assert HF.hops(scores, label, TOY17, k=1).item() == at_1
    assert_equal(at_5, HF.hops(scores, label, TOY17, k=5))
    assert_equal(at_10, HF.hops(scores, label, TOY17, k=10))
    assert HF.average_hierarchical_distance(scores, label, TOY17, k=5).item() == pytest.approx(ahd_5)
    assert HF.average_hierarchical_distance(scores, label, TOY17, k=10).item() == pytest.approx(ahd_10)


def test_the_weights_and_worst_cases_of_the_worked_example() -> None:
    texts = "1 1/2 5/12 1/3 1/4 3/16 1/8 13/112 3/28 11/112 5/56 9/112 1/14 1/16 3/64 1/32 1/64"
    weights = [Fraction(text) for text in texts.split()]
    assert slow_weights(BEST, "zero") == weights
    assert slow_weights(BEST, "half")[-4:] == [Fraction(1, 16), Fraction(7, 128), Fraction(3, 64), Fraction(5, 128)]
    assert slow_disorder(BEST, BEST[::-1], "zero", 17) == Fraction(3953, 448)
    assert slow_disorder(BEST, BEST[::-1], "half", 17) == Fraction(8053, 896)
    profile = tables.rank_tables(TOY17, torch.device("cpu"))
    for k, worst in ((17, Fraction(3953, 448)), (10, Fraction(727, 112)), (5, Fraction(5, 2))):
        found = disorder_of_reverse(profile, torch.tensor([D1]), k, "zero")
        assert found.item() == pytest.approx(float(worst), abs=1e-14)


@pytest.mark.parametrize("most_tabulated", [0, 5_000])
@given(taxonomy=taxonomies() | graphs(), seed=st.integers(0, 999), k=st.sampled_from([None, 1, 2, 3, 5, 99]))
@settings(max_examples=60, deadline=None)
def test_hops_equals_a_slow_loop_on_random_trees_and_graphs(
    most_tabulated: int, taxonomy: Taxonomy, seed: int, k: int | None
) -> None:
    generator = torch.Generator().manual_seed(seed)
    count = taxonomy.num_classes
    scores = torch.randint(0, 6, (7, count), generator=generator).float()  # with ties
    labels = torch.randint(count, (7,), generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MOST_TABULATED", most_tabulated)
        patch.setattr(tables, "CHUNK", 3 * count)
        tables._tables.pop(taxonomy, None)
        fast = {v: HF.hops(scores, labels, taxonomy, k, variant=v).tolist() for v in ("published", "paper")}
        order = HF.correct_order(scores, labels, taxonomy, k).tolist()
        distance = HF.average_hierarchical_distance(scores, labels, taxonomy, k or count).tolist()
    for row, label in enumerate(labels.tolist()):
        distances, ranks = slow_distances_and_ranks(taxonomy, label)
        classes = sorted(range(count), key=lambda c: (-scores[row, c].item(), c))
        depth = min(k or count, count)
        for variant, values in fast.items():
            assert values[row] == pytest.approx(float(slow_hops(ranks, classes, k, variant)), abs=1e-12)
        assert order[row] == ([ranks[c] for c in classes[:depth]] == sorted(ranks)[:depth])
        assert distance[row] == pytest.approx(sum(distances[c] for c in classes[:depth]) / depth)


@given(taxonomy=taxonomies(max_nodes=7), seed=st.integers(0, 99), k=st.sampled_from([None, 1, 2, 3]))
@settings(max_examples=25, deadline=None)
def test_exact_hops_is_0_only_at_the_worst_of_all_orders(taxonomy: Taxonomy, seed: int, k: int | None) -> None:
    count = taxonomy.num_classes
    label = seed % count
    _, ranks = slow_distances_and_ranks(taxonomy, label)
    desired, depth = sorted(ranks), min(k or count, count)
    every = [list(order) for order in permutations(range(count))]
    disorders = [slow_disorder(desired, [ranks[c] for c in order], "zero", depth) for order in every]
    scores = torch.empty(len(every), count)
    scores.scatter_(1, torch.tensor(every), -torch.arange(float(count)).expand(len(every), -1))
    values = HF.hops(scores, torch.full((len(every),), label), taxonomy, k, variant="exact").tolist()
    worst = max(disorders)
    expected = [float(1 - disorder / worst) if worst else 1.0 for disorder in disorders]
    assert values == pytest.approx(expected, abs=1e-12)
    assert min(values) == 0 or count == 1


def test_the_reversed_order_is_not_the_worst() -> None:
    reverse = scores_with_ranks(BEST[::-1], TOY17, D1)
    assert HF.hops(reverse, torch.tensor([D1]), TOY17).item() == 0
    assert 0.01 < HF.hops(reverse, torch.tensor([D1]), TOY17, variant="exact").item() < 0.3


def test_exact_hops_refuses_more_classes_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("hiercos.metrics.functional.hops"), "MOST_ASSIGNED", 16)
    with pytest.raises(ValueError, match="takes up to 16 classes, got 17"):
        HF.hops(torch.zeros(1, 17), torch.tensor([0]), TOY17, variant="exact")


@given(taxonomy=taxonomies(max_nodes=8), seed=st.integers(0, 99), k=st.sampled_from([None, 1, 2, 4]))
@settings(max_examples=25, deadline=None)
def test_mean_ties_are_the_mean_over_all_orders_of_equal_scores(taxonomy: Taxonomy, seed: int, k: int | None) -> None:
    generator = torch.Generator().manual_seed(seed)
    count = taxonomy.num_classes
    scores = torch.randint(0, 2, (1, count), generator=generator).float()
    label = torch.tensor([seed % count])
    fitting = [order for order in permutations(range(count)) if (scores[0, list(order)].diff() <= 0).all()]
    broken = torch.empty(len(fitting), count)
    broken.scatter_(1, torch.tensor(fitting), -torch.arange(float(count)).expand(len(fitting), -1))
    every = HF.hops(broken, label.expand(len(fitting)), taxonomy, k, variant="exact")
    mean = HF.hops(scores, label, taxonomy, k, variant="exact", ties="mean")
    assert mean.item() == pytest.approx(every.mean().item(), abs=1e-12)
    if k == 1:
        top1 = HF.hops(broken, label.expand(len(fitting)), taxonomy, 1)
        assert HF.hops(scores, label, taxonomy, 1, ties="mean").item() == pytest.approx(top1.mean().item())


def test_mean_ties_change_nothing_without_ties() -> None:
    scores = torch.randn(20, 17, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(20) % 17
    for k in (None, 1, 5):
        by_index = HF.hops(scores, labels, TOY17, k)
        torch.testing.assert_close(HF.hops(scores, labels, TOY17, k, ties="mean"), by_index, rtol=0, atol=1e-14)


def test_unknown_variants_and_tie_rules_are_refused() -> None:
    scores, label = torch.zeros(1, 17), torch.tensor([0])
    with pytest.raises(ValueError, match="expected variant to be one of published, paper, exact, got 'best'"):
        HF.hops(scores, label, TOY17, variant="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected ties to be one of index, mean, got 'random'"):
        HF.hops(scores, label, TOY17, ties="random")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected k of at least 1, got 0"):
        HF.hops(scores, label, TOY17, k=0)
