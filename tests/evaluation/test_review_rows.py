"""Which rows are worth a person's time."""

import numpy as np
import pytest

from hiercos.data import InputBatch, Texts, Vectors
from hiercos.decisions import Posterior
from hiercos.evaluation import STRATEGIES, review_rows
from hiercos.evaluation.review_rows import disagreement, entropy, level_gain, likeness, margin, nearly_same
from trees import TOY


def posterior(*rows: tuple[float, float, float]) -> Posterior:
    return Posterior(np.array(rows), TOY)


def batch(texts: list[str]) -> InputBatch:
    return InputBatch(range(1, len(texts) + 1), Texts(texts))


def test_strategies_are_the_numbers_of_their_definitions() -> None:
    found = posterior((0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0))
    bit = np.log(2)
    assert margin(found) == pytest.approx([1, 1, 0])
    assert entropy(found) == pytest.approx([bit, bit, 0])
    assert level_gain(found) == pytest.approx([bit, 2 * bit, 0])  # cat or dog: one level; cat or car: both
    # the likeliest class is car, but the likeliest path leads to pet and there to cat: distance 2
    assert disagreement(posterior((0.32, 0.28, 0.4)))[0] == pytest.approx(2 + 0.5 * (1 - 0.08))


def test_the_least_sure_rows_come_first_with_what_the_model_knows() -> None:
    found = posterior((0.98, 0.01, 0.01), (0.5, 0.45, 0.05), (0.2, 0.3, 0.5))
    chosen = review_rows([(batch(["one thing", "two birds", "red car"]), found)], 3)
    assert [row.number for row in chosen] == [2, 3, 1]
    assert [TOY.names[node] for node, _ in chosen[0].candidates] == ["cat", "dog"]  # below pet, which is sure
    assert chosen[0].settles(TOY) == "which of 2 classes"
    assert chosen[1].settles(TOY) == "which of 3 classes"
    assert chosen[2].settles(TOY) == "whether it is cat"


def test_no_branch_takes_all_rows_and_near_duplicates_are_one() -> None:
    texts = [f"animal number {number} of many" for number in range(30)] + [f"engine {n} x{n} y{n}" for n in range(30)]
    texts[1] = texts[0].upper()
    unsure = [(0.5, 0.5 - row / 1000, row / 1000) for row in range(30)]
    surer = [(0.1, 0.1 - row / 1000, 0.8 + row / 1000) for row in range(30)]
    chosen = review_rows([(batch(texts), posterior(*unsure, *surer))], 10)
    assert [row.number for row in chosen][:2] == [1, 3]
    animals = review_rows([(batch([f"a{n} b{n}" for n in range(60)]), posterior(*unsure, *surer))], 10)
    assert [TOY.names[row.branch] for row in animals] == ["pet"] * 10  # twice the share of half of the rows is all
    few = [(0.5, 0.5, 0.0)] * 10 + [(0.1, 0.1, 0.8)] * 50
    spread = review_rows([(batch([f"a{n} b{n}" for n in range(60)]), posterior(*few))], 12)
    assert sorted(TOY.names[row.branch] for row in spread) == ["pet"] * 4 + ["vehicle"] * 8


def test_random_rows_depend_on_the_seed_alone_and_memory_not_on_the_number_of_rows() -> None:
    def batches() -> list[tuple[InputBatch, Posterior]]:
        parts = [range(start, start + 50) for start in range(0, 500, 50)]
        return [
            (InputBatch(list(part), Texts([f"a{n} b{n}" for n in part])), posterior(*[(0.4, 0.3, 0.3)] * 50))
            for part in parts
        ]

    first, again, other = ([row.number for row in review_rows(batches(), 8, "random", seed=seed)] for seed in (0, 0, 1))
    assert first == again != other
    assert max(first) > 50
    for strategy in STRATEGIES:
        assert len(review_rows(batches(), 8, strategy)) == 8


def test_vectors_are_nearly_the_same_if_their_directions_are() -> None:
    one, other, third = (likeness(Vectors(np.array([[1.0, 0.0], [5.0, 0.1], [0.0, 1.0]])), row) for row in range(3))
    assert nearly_same(one, other)
    assert not nearly_same(one, third)
