"""Samples with several candidate labels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hiercos.data import Dataset, Texts, Vectors, load_dataset
from hiercos.errors import DataError
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


def test_a_table_names_the_candidates_of_a_row(tmp_path: Path) -> None:
    rows = ["text,label,candidates", "a,cat,", "b,,cat | dog", "c,bird,vehicle > car", "d,car,cat|car"]
    (tmp_path / "data.csv").write_text("\n".join(rows))
    found = load_dataset(tmp_path / "data.csv", taxonomy=TOY, purpose="train", test=False)
    assert found.nodes.tolist() == [CAT, TOY.names.index("pet"), CAR, -1]
    assert found.candidates is not None
    assert found.candidates.tolist() == [[-1, -1], [CAT, DOG], [CAR, -1], [CAT, CAR]]
    assert "2 samples have several candidate labels; each is learned as one" in found.notes[0]


@pytest.mark.parametrize(
    ("row", "message"),
    [("b,,cat | bird", "row 3: unknown label 'bird'"), ("b,,", "row 3: the label is empty")],
)
def test_a_faulty_candidate_is_named_by_its_row(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "data.csv").write_text(f"text,label,candidates\na,cat,cat | dog\n{row}\n")
    with pytest.raises(DataError, match=message):
        load_dataset(tmp_path / "data.csv", taxonomy=TOY)
