"""The one trainer: what learns from which rows, and the same model behind every door."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric

from blobs import cloud
from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.benchmark import Entry, compare
from hiercos.data import Dataset, Inputs, Texts, Vectors, completed
from hiercos.decisions import fit_temperature
from hiercos.hub import PretrainedModel
from hiercos.model import Classifier, class_scores
from hiercos.records import RUNS
from hiercos.storage import opened
from hiercos.training import HELD_OUT, Settings, features_of, fit, train
from hiercos.training.run_folder import stored_scores
from hiercos.training.settings import Effort
from trees import TOY17

METHODS = ("committee", "hier-cos", "cross-entropy-mlp", "tree-logistic", "linear-svm", "siblings")
SHORT = {"committee": 1, "hier-cos": 2, "cross-entropy-mlp": 2}


def rows(kind: str, count: int = 600) -> tuple[Inputs, np.ndarray]:
    """Samples of one kind without a split, and their classes."""
    features, labels = cloud(TOY17, count, noise=1.0)
    if kind == "vectors":
        return Vectors(features.numpy()), labels.numpy()
    signs = np.where(features.numpy() > 0, "high", "low")
    texts = [
        " ".join(f"{sign}{place}" for place, sign in enumerate(row)) + f" {number}" for number, row in enumerate(signs)
    ]
    return Texts(texts), labels.numpy()


def dataset(kind: str, *, purpose: str = "train", count: int = 600) -> Dataset:
    inputs, labels = rows(kind, count)
    return Dataset("rows", TOY17, inputs, TOY17.leaves[labels], np.full(count, ""), purpose=purpose)  # type: ignore[arg-type]


def fingerprint(model: Classifier) -> str:
    """Hash of all that a model answers by: weights, temperature, rule and chains."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.model.state_dict().items()):
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    chains = None if model.calibration is None else model.calibration.to_dict()
    digest.update(json.dumps([model.temperature, model.rule.to_dict(), chains], sort_keys=True).encode())
    return digest.hexdigest()


def settings(method: str, *, quick: bool = False) -> Settings:
    """Few epochs; a committee of linear heads alone where it should be quick."""
    effort: Effort | None = "quick" if quick and method == "committee" else None
    return Settings(method, epochs=SHORT.get(method), effort=effort)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["vectors", "texts"])
@pytest.mark.parametrize("method", METHODS)
def test_the_same_rows_give_the_same_model_behind_every_door(
    fabric: Fabric, tmp_path: Path, method: str, kind: str
) -> None:
    data, chosen = dataset(kind), settings(method, quick=kind == "vectors")
    trained = train(data, chosen, fabric=fabric, folder=tmp_path / "model").classifier
    estimator = HierarchicalClassifier(TOY17, method=method, epochs=chosen.epochs, effort=chosen.effort)
    X = np.asarray(data.inputs) if isinstance(data.inputs, Vectors) else list(data.inputs)
    estimator.fit(X, [TOY17.path_text(int(leaf)) for leaf in TOY17.leaves[data.labels]])
    loaded = Classifier.load(tmp_path / "model")
    PretrainedModel.from_pretrained(tmp_path / "model").save_pretrained(tmp_path / "published")
    published = PretrainedModel.from_pretrained(tmp_path / "published").classifier
    models = (trained, estimator.classifier_, loaded, published)
    assert len({fingerprint(model) for model in models}) == 1
    answers = [model.answers(X[::37], top=3, confidence=0.8) for model in models]
    assert answers == [answers[0]] * 4
    alone = np.concatenate([estimator.predict_proba(X[row : row + 1]) for row in range(0, 600, 37)])
    np.testing.assert_array_equal(alone, estimator.predict_proba(X)[::37])


@pytest.mark.long
def test_a_comparison_trains_the_models_of_a_training_on_the_same_split(fabric: Fabric, tmp_path: Path) -> None:
    whole = completed(dataset("vectors", purpose="compare"))
    kept = np.flatnonzero(whole.split != "test")
    alone = dataset("vectors").take(kept)
    assert completed(alone, test=False).split.tolist() == whole.split[kept].tolist()
    entries = [Entry(settings(method, quick=True)) for method in METHODS[:5]]
    compare(fabric, features_of(whole), entries, [0], tmp_path)
    for entry in entries:
        compared = Classifier.load(tmp_path / RUNS / entry.settings.method / "seed-0")
        assert fingerprint(compared) == fingerprint(train(alone, entry.settings, fabric=fabric).classifier)


def test_the_final_model_learns_from_the_validation_rows_and_keeps_the_temperature_from_before(fabric: Fabric) -> None:
    data = completed(dataset("vectors"), test=False)
    first = train(data, replace(settings("tree-logistic"), refit=False), fabric=fabric)
    final = train(data, settings("tree-logistic"), fabric=fabric)
    val = features_of(data).samples("val")
    scores = class_scores(fabric, first.classifier.model, val)
    assert final.classifier.temperature == first.classifier.temperature == fit_temperature(scores, val.labels)
    assert fingerprint(final.classifier) != fingerprint(first.classifier)
    everything = features_of(data).with_split(np.where(data.split == "val", "train", data.split))
    again = everything.model(settings("tree-logistic"))
    fit(
        fabric,
        again,
        everything.training_samples(settings("tree-logistic")),
        None,
        settings("tree-logistic").resolved(len(data)),
        chosen=final.classifier.model,
    )
    for name, weight in again.state_dict().items():
        assert np.array_equal(final.classifier.model.state_dict()[name], weight), name


def test_few_samples_are_calibrated_by_cross_fits_and_all_are_learned_from(fabric: Fabric) -> None:
    data = dataset("vectors", count=68)
    found = train(data, Settings("cross-entropy", epochs=20), fabric=fabric)
    assert (completed(data, test=False).split == "train").all()
    assert found.classifier.temperature != 1
    assert found.classifier.calibration is not None
    assert len(found.classifier.calibration) == 68
    assert not found.classifier.calibration.exchangeable


def test_rows_are_set_aside_for_an_exact_guarantee_only_where_it_is_asked_for(fabric: Fabric) -> None:
    data = dataset("vectors")
    plain = train(data, settings("tree-logistic"), fabric=fabric).classifier
    exact = train(data, replace(settings("tree-logistic"), targets=True), fabric=fabric).classifier
    aside = completed(data, test=False, targets=True).rows("calibration")
    assert plain.calibration is not None
    assert exact.calibration is not None
    assert (plain.calibration.exchangeable, exact.calibration.exchangeable) == (False, True)
    assert len(exact.calibration) == len(aside) > 40


def test_training_leaves_the_random_state_of_the_caller_alone(fabric: Fabric) -> None:
    import torch

    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(dataset("vectors", count=68), Settings("cross-entropy", epochs=1), fabric=fabric)
    assert torch.equal(torch.rand(3), expected)


def test_a_label_with_one_sample_stays_in_training() -> None:
    lonely = Taxonomy.from_paths([(f"class {number}",) for number in range(500)])
    features = np.random.default_rng(0).normal(size=(900, 3))
    labels = np.concatenate([np.arange(500), np.zeros(400, dtype=int)])
    made = completed(
        Dataset("rows", lonely, Vectors(features), lonely.leaves[labels], np.full(900, ""), purpose="train"), test=False
    )
    assert set(labels[made.rows("val")]) == {0}
    assert set(labels[made.rows("train")]) == set(range(500))


@pytest.mark.parametrize("method", ["tree-logistic", "cross-entropy"])
def test_with_folds_all_rows_but_test_choose_and_are_learned_from(fabric: Fabric, tmp_path: Path, method: str) -> None:
    data = completed(dataset("vectors"))
    found = train(data, Settings(method, epochs=5, folds=4), fabric=fabric, folder=tmp_path)
    tests = len(data.rows("test"))
    assert len(data.rows("val")) > 0
    assert len(stored_scores(opened(tmp_path), HELD_OUT).labels) == len(data.split) - tests
    learned = found.records["none"].learned
    assert (learned["rows"], learned["held_out"]) == (len(data.split) - tests, "4 cross-fits")
