"""The probabilities of a row do not depend on the rows beside it, to the bit, behind every door."""

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hiercos import HierarchicalClassifier, load_pipeline
from hiercos.cli.app import run
from hiercos.encoders import ReadConfig, SingleDevice
from hiercos.model import Classifier
from trees import TOY

METHODS = ["committee", "hier-cos", "cross-entropy-mlp", "tree-logistic", "linear-svm", "siblings", "centroids"]
KINDS = ["vectors", "texts"]
ROWS = 300  # more than one block of the scoring loop
ALONE = (0, 1, 2, 3, 5, 255, 256, 299)
WORDS = [["furry", "red cat", "cat"], ["loud", "red dog", "dog"], ["metal", "old car", "car"]]
ANY = pytest.mark.parametrize(("method", "kind"), [(method, kind) for method in METHODS for kind in KINDS])


def rows_of(kind: str, count: int, seed: int) -> tuple[list[str] | NDArray[np.float64], NDArray[np.int64]]:
    """Vectors of 7 numbers, whose rows begin at any byte, or texts, with their classes."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(3, size=count)
    if kind == "vectors":
        return generator.normal(size=(count, 7)) + 2 * np.eye(3, 7)[labels], labels
    texts = [
        f"{generator.choice(WORDS[label])} {generator.integers(20)} {generator.choice(WORDS[0])}" for label in labels
    ]
    return texts, labels


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A function that gives the folder of a trained model."""

    @cache
    def folder_of(method: str, kind: str) -> Path:
        folder = tmp_path_factory.mktemp(f"{method}-{kind}") / "model"
        inputs, labels = rows_of(kind, 90, seed=0)
        options = {"effort": "quick"} if method == "committee" else {}
        epochs = 2 if method in ("hier-cos", "cross-entropy-mlp") else None
        estimator = HierarchicalClassifier(TOY, method=method, epochs=epochs, **options)
        estimator.fit(inputs, np.array(TOY.class_names)[labels]).save(folder)
        return folder

    return folder_of


@ANY
def test_python_gives_a_row_the_same_bits_in_any_batch(
    model: Callable[[str, str], Path], method: str, kind: str
) -> None:
    inputs, _ = rows_of(kind, ROWS, seed=1)
    classifier = Classifier.load(model(method, kind))
    expected = classifier.posterior(inputs).classes
    for start in ALONE:
        alone = classifier.posterior(inputs[start : start + 1]).classes
        np.testing.assert_array_equal(alone[0], expected[start])
    sevens = [part for start in range(0, ROWS, 7) for part in classifier.posteriors(inputs[start : start + 7])]
    np.testing.assert_array_equal(np.concatenate([part.classes for part in sevens]), expected)
    small = ReadConfig(SingleDevice("cpu"), batch_size=7)
    parts = [part.classes for part in classifier.posteriors(inputs, small)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    turned = classifier.posterior(inputs[::-1]).classes
    np.testing.assert_array_equal(turned[::-1], expected)
    estimator = HierarchicalClassifier.load(model(method, kind))
    columns = estimator.labels_.columns
    np.testing.assert_array_equal(estimator.predict_proba(inputs), expected[:, columns])
    np.testing.assert_array_equal(estimator.predict_proba(inputs[3:10]), expected[3:10, columns])
    if kind == "vectors":
        np.testing.assert_array_equal(estimator.predict_proba(inputs.astype(np.float32)[5:6]), expected[5:6, columns])
    pipeline = load_pipeline(model(method, kind), device="cpu", batch_size=7)
    answers = classifier.answers(inputs)
    assert pipeline(inputs) == answers
    assert pipeline(inputs[5:6]) == [{**answers[5], "row": 1}]


@ANY
def test_the_command_gives_a_row_the_same_bits_in_any_batch(
    model: Callable[[str, str], Path], method: str, kind: str, tmp_path: Path
) -> None:
    inputs, _ = rows_of(kind, ROWS, seed=1)
    expected = Classifier.load(model(method, kind)).posterior(inputs).nodes

    def predicted(rows: slice, *options: str) -> NDArray[np.float64]:
        source = tmp_path / ("rows.npz" if kind == "vectors" else "rows.csv")
        if kind == "vectors":
            np.savez(source, features=np.asarray(inputs[rows], dtype=np.float32))
        else:
            source.write_text("\n".join(["text", *inputs[rows]]) + "\n", encoding="utf-8")
        output = tmp_path / "nodes.csv"
        output.unlink(missing_ok=True)
        command = [
            "predict",
            str(model(method, kind)),
            str(source),
            "--probabilities",
            "nodes",
            "--output",
            str(output),
        ]
        assert run([*command, "--device", "cpu", *options]) == 0
        with output.open(newline="", encoding="utf-8") as file:
            return np.array([[float(value) for value in row[1:]] for row in list(csv.reader(file))[1:]])

    np.testing.assert_array_equal(predicted(slice(None)), np.minimum(expected, 1))
    np.testing.assert_array_equal(predicted(slice(None), "--batch-size", "7"), np.minimum(expected, 1))
    for start in ALONE[3:6]:
        np.testing.assert_array_equal(predicted(slice(start, start + 1))[0], np.minimum(expected[start], 1))


@ANY
def test_an_exported_model_has_the_same_probabilities_within_a_ten_thousandth(
    model: Callable[[str, str], Path], method: str, kind: str
) -> None:
    pytest.importorskip("onnxruntime")
    from hiercos.onnx import export_onnx

    inputs, _ = rows_of(kind, 50, seed=2)
    classifier = Classifier.load(model(method, kind))
    export = export_onnx(classifier)
    found = export.opened().posterior(inputs).classes
    np.testing.assert_allclose(found, classifier.posterior(inputs).classes, atol=1e-4)
