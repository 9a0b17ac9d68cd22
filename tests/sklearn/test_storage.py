from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from lightning_fabric import Fabric

from blobs import blob_data
from folders import resealed
from hiercos import HierarchicalClassifier, HierCOSClassifier
from hiercos.cli.app import run
from hiercos.encoders import launched
from hiercos.model import Classifier, ModelError
from hiercos.training import Settings, train
from sklearn_clouds import LEVELS, NAMES, PATHS, UNEVEN, samples
from trees import TOY17


@pytest.fixture
def fabric() -> Fabric:
    return launched("cpu")


@pytest.mark.parametrize("labels", [NAMES, PATHS, LEVELS], ids=["names", "paths", "levels"])
def test_a_loaded_estimator_answers_as_the_saved_one_did(tmp_path: Path, labels: np.ndarray) -> None:  # type: ignore[type-arg]
    X, classes = samples(120)
    taxonomy = UNEVEN if labels is NAMES else None
    saved = HierarchicalClassifier(taxonomy, rule="crm", random_state=0, epochs=5).fit(X, np.asarray(labels)[classes])
    saved.save(tmp_path / "model")
    loaded = HierarchicalClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), saved.predict(X))
    assert np.array_equal(loaded.predict_proba(X), saved.predict_proba(X))
    assert np.array_equal(loaded.predict_node_proba(X), saved.predict_node_proba(X))
    assert loaded.classes_.tolist() == saved.classes_.tolist()
    assert loaded.get_params()["rule"] == "crm"
    assert loaded.score(X, np.asarray(labels)[classes]) == saved.score(X, np.asarray(labels)[classes])


def test_labels_without_a_tree_and_sparse_samples_survive(tmp_path: Path) -> None:
    X, classes = samples(120)
    wide = scipy.sparse.csr_matrix(np.hstack([X, np.zeros((len(X), 30))]))
    saved = HierarchicalClassifier(random_state=0, epochs=3, method="path-softmax", options={"dim": 5}).fit(
        wide, classes * 10
    )
    saved.save(tmp_path)
    loaded = HierarchicalClassifier.load(tmp_path)
    assert loaded.predict(wide).tolist() == saved.predict(wide).tolist()
    assert loaded.n_features_in_ == wide.shape[1]


def test_a_folder_of_the_command_is_an_estimator_and_the_other_way_round(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 170)
    train(data, Settings(method="hier-cos", epochs=2, rule="crm"), fabric=fabric, folder=tmp_path / "trained")
    X = data.samples("test").features.numpy()
    loaded = HierCOSClassifier.load(tmp_path / "trained")
    stored = Classifier.load(tmp_path / "trained")
    answers = stored.rule(stored.posterior(X)).classes
    assert loaded.predict(X).tolist() == [TOY17.class_names[label] for label in answers]
    with pytest.raises(ModelError, match="trained: holds the record of a training run; choose another folder"):
        loaded.save(tmp_path / "trained")
    assert Classifier.load(tmp_path / "trained").rule == stored.rule
    loaded.save(tmp_path / "again")
    np.savez(tmp_path / "inputs.npz", features=X)
    command = ["predict", str(tmp_path / "again"), str(tmp_path / "inputs.npz"), "--output", str(tmp_path / "out.csv")]
    assert run(command) == 0
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [row.split(",")[5] for row in rows] == loaded.predict(X).tolist()


def test_a_folder_of_another_kind_or_a_damaged_one_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    X, classes = samples(40)
    HierarchicalClassifier(UNEVEN, epochs=1).fit(X, np.asarray(NAMES)[classes]).save(tmp_path)
    train(blob_data(), Settings(method="cross-entropy", epochs=1), fabric=fabric, folder=tmp_path / "flat")
    with pytest.raises(ModelError, match="expected a model of 'hier-cos', got one of"):
        HierCOSClassifier.load(tmp_path / "flat")
    (tmp_path / "estimator.json").write_text("{}")
    resealed(tmp_path)
    with pytest.raises(ModelError, match=r"estimator\.json: not a saved estimator"):
        HierarchicalClassifier.load(tmp_path)


def test_a_folder_with_other_files_is_refused_and_an_earlier_estimator_is_replaced(tmp_path: Path) -> None:
    X, classes = samples(40)
    model = HierarchicalClassifier(UNEVEN, method="gaussian").fit(X, np.asarray(NAMES)[classes])
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"holds other files \(config.json, thesis.txt\); choose a new or an empty"):
        model.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "thesis.txt"]
    assert (tmp_path / "config.json").read_text() == "{}"
    with pytest.raises(ModelError, match=r"thesis.txt: expected a folder, got a file"):
        model.save(tmp_path / "thesis.txt")
    for _ in range(2):
        model.save(tmp_path / "model")
    assert HierarchicalClassifier.load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()
