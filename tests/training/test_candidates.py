"""Samples with several candidate labels."""

from dataclasses import replace

import numpy as np
import pytest

from hiercos.data import Dataset, Texts, Vectors
from hiercos.training import Settings, train
from trees import TOY

CAT, DOG, CAR = TOY.leaves.tolist()


def samples(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points around the corner of their class, and the classes' nodes."""
    generator = np.random.default_rng(seed)
    nodes = np.array([CAT, DOG, CAR])[generator.integers(3, size=count)]
    centres = {CAT: (2, 0), DOG: (-2, 0), CAR: (0, 3)}
    return np.array([centres[node] for node in nodes.tolist()]) + generator.normal(size=(count, 2)), nodes


def dataset(count: int, known: int) -> tuple[Dataset, np.ndarray]:
    """Samples of which only the first few tell cats from dogs, and the true nodes."""
    points, nodes = samples(count)
    candidates = np.stack([nodes, np.full(count, -1)], axis=1)
    is_open = (np.arange(count) >= known) & (nodes != CAR)
    candidates[is_open] = [DOG, CAT]
    labels = np.where(is_open, TOY.names.index("pet"), nodes)
    split = np.full(count, "train")
    vectors = Vectors(points.astype(np.float32))
    return Dataset("toy", TOY, vectors, labels, split, candidates=candidates, purpose="train"), nodes


@pytest.mark.parametrize("method", ["tree-logistic", "siblings"])
def test_candidates_are_told_apart_by_the_rows_that_are_known(method: str) -> None:
    data, _ = dataset(400, known=40)
    points, nodes = samples(300, seed=1)
    settings = Settings(method=method)
    with_candidates = train(data, settings).classifier.posterior(points.astype(np.float32))
    known = replace(data, candidates=None)
    without = train(known.take(np.arange(40)), settings).classifier.posterior(points.astype(np.float32))

    def loss(found: object) -> float:
        return float(-np.log(found.classes[np.arange(300), TOY.classes_of(nodes)]).mean())  # type: ignore[attr-defined]

    assert loss(with_candidates) < loss(without)
    assert (TOY.leaves[with_candidates.classes.argmax(axis=1)] == nodes).mean() > 0.9


def test_a_sample_with_one_candidate_is_learned_as_any_other() -> None:
    data, _ = dataset(120, known=120)
    plain = train(replace(data, candidates=None), Settings(method="tree-logistic")).classifier
    same = train(data, Settings(method="tree-logistic")).classifier
    points = samples(20, seed=1)[0].astype(np.float32)
    np.testing.assert_array_equal(plain.posterior(points).classes, same.posterior(points).classes)


def test_texts_with_candidates_are_learned_too() -> None:
    data, nodes = dataset(200, known=60)
    words = {CAT: "soft", DOG: "loud", CAR: "fast"}
    texts = Texts([f"{words[node]} thing {place % 7}" for place, node in enumerate(nodes.tolist())])
    found = train(replace(data, inputs=texts), Settings(method="siblings")).classifier
    answers = found.posterior(["soft thing", "loud thing", "fast thing"]).classes.argmax(axis=1)
    assert answers.tolist() == [0, 1, 2]
