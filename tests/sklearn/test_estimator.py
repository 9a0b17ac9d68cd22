import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiercos import HierarchicalClassifier, HierCOSClassifier, Taxonomy
from hiercos.decisions import Posterior
from hiercos.decisions import rule as named_rule
from hiercos.errors import HiercosWarning
from hiercos.sklearn.scorers import hops_scorer
from sklearn_clouds import LEVELS, NAMES, PATHS, UNEVEN, samples
from trees import TOY17

pytestmark = pytest.mark.filterwarnings("ignore:y. labels such as .* are names")  # most tests need no tree

X, LABELS = samples()
Y = NAMES[LABELS]
PARTS = [f"part {number} of 3" for number in (1, 2, 3)]  # of few samples, for the calibration
COLUMNS = [f"feature {number}" for number in range(12)]


def quick(taxonomy: Any = UNEVEN, **parameters: Any) -> HierarchicalClassifier:
    return HierarchicalClassifier(taxonomy, **{"method": "path-softmax", "epochs": 3, "random_state": 0, **parameters})


# What it answers.


@pytest.mark.parametrize("rule", ["none", "crm", "hops"])
def test_the_decision_function_ranks_as_the_rule_does(rule: str) -> None:
    noisy, labels = samples(60, noise=3.0)
    model = quick(rule=rule).fit(noisy, labels)
    ruled = named_rule(rule).ranking(Posterior(model.predict_proba(noisy), UNEVEN))
    scores = model.decision_function(noisy)
    assert (-scores).argsort(axis=1).tolist() == (-ruled).argsort(axis=1).tolist()
    assert model.predict(noisy).tolist() == model.classes_[scores.argmax(axis=1)].tolist()


@pytest.mark.parametrize("rule", ["none", "crm", "hops"])
def test_among_equals_the_ranking_begins_with_the_answer(rule: str) -> None:
    model = quick(rule=rule).fit(X, Y)
    for weight in model.model_.parameters():
        torch.nn.init.zeros_(weight)
    assert np.ptp(model.predict_proba(X)) < 1e-12
    scores, answers = model.decision_function(X), np.searchsorted(model.classes_, model.predict(X))
    assert (np.take_along_axis(scores, answers[:, None], axis=1)[:, 0] == scores.max(axis=1)).all()


@pytest.mark.parametrize("rule", ["none", "crm", "hops"])
def test_columns_are_in_the_order_of_the_classes(rule: str) -> None:
    labels = np.arange(170) % 17
    features = np.random.default_rng(0).normal(size=(170, 17)) + 5 * np.eye(17)[labels]
    names = np.array(TOY17.class_names)[labels]
    model = quick(TOY17, rule=rule, epochs=10).fit(features, names)
    assert model.classes_.tolist() == sorted(TOY17.class_names)
    for scores in (model.predict_proba(features), model.decision_function(features)):
        assert (model.classes_[scores.argmax(axis=1)] == names).mean() > 0.9


def test_two_classes_have_one_column_that_is_above_0_for_the_second() -> None:
    two = LABELS < 2
    for taxonomy in (None, Taxonomy.from_paths([("pet", "dog"), ("pet", "cat")])):
        model = quick(taxonomy).fit(X[two], Y[two])
        scores = model.decision_function(X)
        assert scores.shape == (120,)
        assert model.classes_[(scores > 0).astype(int)].tolist() == model.predict(X).tolist()
        assert model.predict_proba(X).shape == (120, 2)


@pytest.mark.parametrize("taxonomy", [None, UNEVEN], ids=["inferred", "given"])
@pytest.mark.parametrize("labels", [NAMES, PATHS, LEVELS, np.arange(4.0)], ids=["names", "paths", "levels", "floats"])
def test_answers_are_of_the_kind_of_the_labels(labels: Any, taxonomy: Taxonomy | None) -> None:
    y = labels[LABELS]
    model = quick(taxonomy, epochs=20).fit(X, y)
    answers = model.predict(X)
    assert (answers.dtype, answers.shape) == (y.dtype, y.shape)
    assert model.score(X, y) == (answers == y).reshape(120, -1).all(axis=1).mean() > 0.95
    assert model.predict(X[:1]).tolist() == labels[:1].tolist()


def test_classes_that_were_never_seen_have_columns_and_are_not_answered() -> None:
    seen = LABELS != 3
    model = quick(epochs=20).fit(X[seen], Y[seen])
    assert model.classes_.tolist() == sorted(NAMES)
    assert model.predict_proba(X).shape == (120, 4)
    assert "plant" not in model.predict(X[seen])


def test_a_label_that_fit_never_saw_is_a_mistake_in_score() -> None:
    seen = LABELS != 3
    for labels in (NAMES, PATHS, LEVELS):
        model = quick(None, epochs=20).fit(X[seen], labels[LABELS][seen])
        assert model.score(X, labels[LABELS]) == pytest.approx(0.75 * model.score(X[seen], labels[LABELS][seen]))


@pytest.mark.parametrize("unknown", [False, True])
def test_score_leaves_out_samples_of_inner_nodes_with_a_warning(unknown: bool) -> None:
    model = quick(epochs=20).fit(X, Y)
    labels = np.where(np.arange(120) % 5 == 0, "pet", Y).astype(object)
    labels[:10:5] = "root"
    of_class = np.arange(120) % 5 > 0
    if unknown:
        labels[1] = "no such class"
    expected = (model.predict(X) == labels)[of_class].mean()
    with pytest.warns(HiercosWarning, match=r"^y: 24 of 120 samples are labelled with an inner node; the score leaves"):
        assert model.score(X, labels) == expected
    with pytest.raises(ValueError, match="every sample is labelled with an inner node"):
        model.score(X[:2], ["pet", "root"])


def test_fit_warns_of_samples_that_the_method_cannot_learn_from() -> None:
    labels = np.where(np.arange(120) % 5 == 0, "pet", Y).astype(object)
    with pytest.warns(HiercosWarning, match=r"^Learned from the \d+ of \d+ training rows .* alone: tree-logistic\.$"):
        model = quick(method="tree-logistic", epochs=None).fit(X, labels)
    assert model.score(X, Y) > 0.8


def test_score_weighs_its_samples() -> None:
    model = quick().fit(X, Y)
    right = model.predict(X) == Y
    wrong = np.where(right, "no such class", Y)
    assert model.score(X, wrong, sample_weight=np.arange(120)) == 0
    assert model.score(X, Y, sample_weight=right) == 1


# What it leaves alone.


def test_fit_and_predict_leave_the_samples_and_the_users_random_numbers_alone() -> None:
    features, y = X.copy(), Y.copy()
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002  # the global state is what this is about
    states = torch.random.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    for model in (quick(), HierCOSClassifier(UNEVEN, epochs=2, dropout=0.5, random_state=1)):
        model.fit(features, y).predict(features)
    assert torch.random.get_rng_state().equal(states[0])
    assert np.random.get_state()[1].tolist() == states[1]  # noqa: NPY002
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(y, Y)


def test_the_seed_decides_everything() -> None:
    first, same, other = (quick(random_state=seed).fit(X, Y).predict_proba(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert abs(first - other).max() > 1e-6
    np.testing.assert_array_equal(
        quick(random_state=None).fit(X, Y).predict_proba(X), quick().fit(X, Y).predict_proba(X)
    )
    drawn = (quick(random_state=np.random.RandomState(3)).fit(X, Y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(*drawn)


def test_single_precision_and_whole_numbers_are_samples_too() -> None:
    model = quick(epochs=20).fit(X.astype(np.float32), Y)
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float64
    np.testing.assert_allclose(model.predict_proba(X.astype(np.float32)), model.predict_proba(X), atol=1e-4)
    assert quick(epochs=20).fit((100 * X).astype(int), Y).score((100 * X).astype(int), Y) > 0.95


def test_values_beyond_single_precision_are_refused() -> None:
    message = r"^X: expected values of a size up to 3\.4e\+38 \(float32\), got"
    with pytest.raises(ValueError, match=message):
        quick().fit(1e300 * X, Y)
    model = HierCOSClassifier(UNEVEN, epochs=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict_proba(np.concatenate([X[:2], 1e300 * X[:1]]))


def test_lines_of_the_epochs_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    quick(verbose=True).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    names = [f"{name}: epoch {number}/3" for name in (*PARTS, "all samples") for number in (1, 2, 3)]
    assert [line.rpartition(": loss")[0] for line in err.splitlines()] == names
    quick().fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_the_default_says_what_it_chose_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    model = HierarchicalClassifier(UNEVEN, random_state=0, verbose=True).fit(X, Y)
    assert model.choice_.startswith("tree-logistic, ")
    assert capsys.readouterr() == ("", f"committee: {model.choice_}.\n")
    wider, classes = samples(600)
    wide = HierarchicalClassifier(UNEVEN, width=8, epochs=1, random_state=0, verbose=True).fit(wider, NAMES[classes])
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("member 2 of 6 (cross-entropy-mlp), model 1 of 3: epoch 1/1: loss ")
    assert last == f"committee: {wide.choice_}."


def test_names_without_a_taxonomy_are_warned_about() -> None:
    with pytest.warns(HiercosWarning) as told:
        model = HierarchicalClassifier(method="gaussian").fit(X, Y)
    (warning,) = told
    assert str(warning.message) == (
        "y: labels such as 'car' are names, and there is no taxonomy, so the tree is flat; pass a taxonomy, or write "
        "paths such as 'pet > cat'"
    )
    assert warning.filename == __file__
    assert model.taxonomy_.height == 1


@pytest.mark.parametrize("labels", [LABELS, np.minimum(LABELS, 1).astype(str), PATHS[LABELS]])
def test_numbers_two_classes_and_paths_need_no_taxonomy(labels: Any, tmp_path: Path) -> None:
    model = HierarchicalClassifier(method="gaussian").fit(X, labels)
    model.save(tmp_path / "saved")
    assert (HierarchicalClassifier.load(tmp_path / "saved").predict(X) == model.predict(X)).all()


def test_any_device_there_is_will_do() -> None:
    np.testing.assert_allclose(
        quick(device="auto").fit(X, Y).predict_proba(X), quick().fit(X, Y).predict_proba(X), atol=1e-4
    )


def test_samples_must_be_there_in_number() -> None:
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        quick().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match=r"^expected at least 2 samples of a weight above 0, got 1 of any class$"):
        quick().fit(X, Y, sample_weight=np.eye(120)[0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        quick().fit(X, LEVELS[LABELS][:-1])
    for unfitted in (quick().predict, quick().decision_function, quick().predict_path, quick().predict_log_proba):
        with pytest.raises(NotFittedError):
            unfitted(X)


# Within scikit-learn.


def test_a_search_over_its_parameters_finds_the_better_one() -> None:
    grid = {"learning_rate": [1e-6, 0.2], "rule": ["none", "crm"], "method": ["path-softmax", "cross-entropy"]}
    search = GridSearchCV(quick(epochs=5), grid, scoring=hops_scorer, cv=2).fit(X, Y)
    assert search.best_params_["learning_rate"] == 0.2
    assert len(search.cv_results_["params"]) == 8
    assert search.score(X, Y) == hops_scorer(search.best_estimator_, X, Y)


@pytest.mark.parametrize("labels", [NAMES, PATHS, np.arange(4)], ids=["names", "paths", "indices"])
def test_cross_validation_takes_one_column_of_labels(labels: Any) -> None:
    for taxonomy in (None, UNEVEN) if labels.dtype.kind == "U" else (UNEVEN,):
        assert cross_val_score(quick(taxonomy, epochs=10), X, labels[LABELS], cv=StratifiedKFold(3)).min() > 0.9


def test_cross_validation_takes_labels_by_level() -> None:
    for y in (LEVELS[LABELS], pd.DataFrame(LEVELS[LABELS])):
        assert cross_val_score(quick(None, epochs=10), X, y, cv=3).min() > 0.9


def test_probabilities_can_be_calibrated() -> None:
    model = CalibratedClassifierCV(quick(), cv=2).fit(X, Y)
    assert model.classes_.tolist() == sorted(NAMES)
    assert model.score(X, Y) > 0.9


def test_a_pipeline_of_frames_hands_on_the_names_of_features() -> None:
    frame = pd.DataFrame(X, columns=COLUMNS)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), quick(epochs=10)).fit(frame, Y)
    assert pipeline[-1].feature_names_in_.tolist() == COLUMNS
    assert pipeline.score(frame, Y) > 0.9
    assert pipeline.predict_proba(frame).shape == (120, 4)


# As a file.


def test_a_pickled_estimator_answers_the_same_in_another_process(tmp_path: Path) -> None:
    model = HierCOSClassifier(UNEVEN, epochs=2, random_state=0).fit(X, Y)
    joblib.dump((model, X), tmp_path / "model.joblib")
    program = "import joblib, numpy, sys; m, X = joblib.load(sys.argv[1]); numpy.save(sys.argv[2], m.predict_proba(X))"
    command = [sys.executable, "-c", program, tmp_path / "model.joblib", tmp_path / "answers.npy"]
    subprocess.run(command, check=True, timeout=300)
    np.testing.assert_allclose(np.load(tmp_path / "answers.npy"), model.predict_proba(X), atol=1e-12)
