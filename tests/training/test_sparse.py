"""Sparse features in the engine: the same results as dense ones, without ever making a dense (M, V) matrix."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from lightning_fabric import Fabric

from folders import with_tensors
from hiercos.data import Dataset, Texts
from hiercos.encoders import ReadConfig
from hiercos.model import Classifier, ModelError, class_scores
from hiercos.training import Features, Settings, features_of, fit, train
from raw_methods import raw_method
from trees import TOY

WORDS = ("cat", "dog", "car")  # one for each class of TOY
TEXTS = [f"{WORDS[row % 3]} number {row} of {('few', 'many')[row % 2]}" for row in range(60)]
SPLIT = np.array(["train"] * 36 + ["val"] * 12 + ["test"] * 12)
GRADIENT = ("cross-entropy", "hier-cos", "path-softmax", "yolo-v2")


@pytest.fixture
def raw() -> Iterator[str]:
    with raw_method() as name:
        yield name


def texts() -> Dataset:
    return Dataset("words", TOY, Texts(TEXTS), TOY.leaves[np.arange(60) % 3], SPLIT)


def config(method: str) -> Settings:
    return Settings(method, epochs=3, batch_size=8, learning_rate=0.05, dim=8, published=True, refit=False)


def dense(data: Features) -> Features:
    """The same features as a dense tensor."""
    assert sp.issparse(data.values)
    return replace(data, values=torch.tensor(data.values.toarray()))


def scores(fabric: Fabric, data: Features, method: str) -> torch.Tensor:
    model = data.model(config(method))
    fit(fabric, model, data.samples("train"), data.samples("val"), config(method))
    return class_scores(fabric, model, data.samples("test"))


def test_a_method_of_raw_inputs_learns_the_same_from_sparse_as_from_dense_features(fabric: Fabric, raw: str) -> None:
    data = features_of(texts()).for_method(config(raw))
    assert sp.issparse(data.samples("train").features)
    torch.testing.assert_close(scores(fabric, data, raw), scores(fabric, dense(data), raw), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("method", GRADIENT)
def test_a_trained_model_takes_sparse_vectors_as_it_takes_their_dense_features(fabric: Fabric, method: str) -> None:
    sparse = features_of(texts())
    data = sparse.for_method(config(method))
    model = data.model(config(method))
    fit(fabric, model, data.samples("train"), data.samples("val"), config(method))
    expected = class_scores(fabric, model, data.samples("test"))
    assert model.projection is not None
    assert model.projection.num_features == model.in_features == 8
    found = class_scores(fabric, model, sparse.samples("test"))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_only_training_texts_shape_the_features() -> None:
    changed = [text if split == "train" else "zebra" for text, split in zip(TEXTS, SPLIT, strict=True)]
    before, after = (features_of(replace(texts(), inputs=Texts(each))) for each in (TEXTS, changed))
    first, second = (each.for_method(config("hier-cos")).projection for each in (before, after))
    assert first is not None
    assert second is not None
    assert torch.equal(first.directions, second.directions)


@pytest.mark.parametrize("method", ["hier-cos", "raw-linear"])
def test_a_model_folder_of_texts_answers_as_the_run_that_wrote_it(
    fabric: Fabric, raw: str, method: str, tmp_path: Path
) -> None:
    assert raw == "raw-linear"
    data = features_of(texts())
    train(data, config(method), fabric=fabric, folder=tmp_path / "m")
    stored = Classifier.load(tmp_path / "m")
    assert (stored.model.projection is None) == stored.model.raw_inputs == (method == raw)
    with np.load(tmp_path / "m" / "test" / "scores.npz") as arrays:
        tested = torch.tensor(arrays["scores"])
    assert stored.encoder is not None
    samples = stored.encoder.samples(Texts(TEXTS[48:]), ReadConfig(fabric))
    torch.testing.assert_close(class_scores(fabric, stored.model, samples), tested, atol=1e-5, rtol=1e-5)


def test_a_damaged_projection_is_named(fabric: Fabric, tmp_path: Path) -> None:
    train(features_of(texts()), config("cross-entropy"), fabric=fabric, folder=tmp_path / "m")
    with_tensors(tmp_path / "m", projection__components=torch.zeros(3, 5))
    with pytest.raises(ModelError, match=r"model\.safetensors: expected projection\.components for 8 features$"):
        Classifier.load(tmp_path / "m")


def wide(rows: int, width: int) -> sp.csr_matrix:
    """Sparse samples with 5 numbers a row, without a dense matrix."""
    generator = np.random.default_rng(0)
    columns, values = generator.integers(0, width, rows * 5), generator.random(rows * 5, dtype=np.float32)
    return sp.csr_matrix((values, columns, np.arange(0, rows * 5 + 1, 5)), shape=(rows, width))


@pytest.mark.parametrize("method", ["cross-entropy", "raw-linear"])
def test_no_dense_matrix_of_all_samples_is_made(
    fabric: Fabric, raw: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert raw == "raw-linear"

    def refused(*_: object) -> None:
        raise AssertionError("a sparse matrix was made dense")

    for kind in (sp.csr_matrix, sp.csr_array):
        monkeypatch.setattr(kind, "toarray", refused)
        monkeypatch.setattr(kind, "todense", refused)
    monkeypatch.setattr(torch.Tensor, "to_dense", refused)
    data = Features(texts(), wide(60, 30_000))
    model = data.for_method(config(method)).model(config(method))
    fit(fabric, model, data.for_method(config(method)).samples("train"), None, config(method))
    assert class_scores(fabric, model, data.samples("test")).shape == (12, 3)
