import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from hiercos import HierarchicalClassifier, HierCOSClassifier, Taxonomy
from hiercos.methods import METHODS
from sklearn_clouds import NAMES, UNEVEN, samples

X, LABELS = samples()
Y = NAMES[LABELS]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_fitted_and_answers(method: str) -> None:
    model = HierarchicalClassifier(UNEVEN, method=method, epochs=2, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (120, 4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    assert model.classes_[probabilities.argmax(axis=1)].tolist() == model.predict(X).tolist()
    assert model.model_.method == method


def test_the_options_reach_the_method() -> None:
    options = {"alpha": 0.3, "direction": "root"}
    general = HierarchicalClassifier(UNEVEN, method="hier-cos", options=options, width=5, dropout=0.2, epochs=1)
    published = HierCOSClassifier(UNEVEN, **options, width=5, dropout=0.2, epochs=1)
    for model in (general.fit(X, Y).model_, published.fit(X, Y).model_):
        assert model.loss.alpha == 0.3
        assert {**model.options, **options, "width": 5, "dropout": 0.2} == model.options
    expected = METHODS["hier-cos"](UNEVEN, 12, **options)
    assert published.model_.loss.state_dict().keys() == expected.loss.state_dict().keys()
    for name, buffer in expected.loss.named_buffers():
        assert dict(published.model_.loss.named_buffers())[name].equal(buffer)


def test_hier_cos_is_the_same_by_either_name() -> None:
    options = {"published": True}
    general = HierarchicalClassifier(UNEVEN, method="hier-cos", options=options, epochs=3, random_state=0).fit(X, Y)
    published = HierCOSClassifier(UNEVEN, epochs=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(general.predict_proba(X), published.predict_proba(X))


def test_the_rule_is_hops_for_the_default_method_and_none_for_others() -> None:
    ranked = {}
    for rule in (None, "none", "hops"):
        model = HierarchicalClassifier(UNEVEN, rule=rule, epochs=2, random_state=0).fit(X, Y)
        ranked[rule] = model.decision_function(X).argsort(axis=1).tolist()
    assert ranked[None] == ranked["hops"] != ranked["none"]
    flat = HierarchicalClassifier(UNEVEN, method="cross-entropy", epochs=2, random_state=0).fit(X, Y)
    assert flat.decision_function(X).argsort(axis=1).tolist() == flat.predict_log_proba(X).argsort(axis=1).tolist()


@pytest.mark.parametrize("estimator", [HierarchicalClassifier, HierCOSClassifier])
def test_a_clone_has_the_same_parameters_and_no_more(estimator: Any) -> None:
    model = estimator(UNEVEN, epochs=1, learning_rate=0.01).fit(X, Y)
    copy = clone(model)
    assert copy.taxonomy == UNEVEN
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "model_")
    assert model.get_params().keys() == inspect.signature(estimator).parameters.keys()
    assert copy.set_params(taxonomy=None, epochs=3).get_params()["epochs"] == 3


def test_a_classifier_prints_briefly_whatever_its_taxonomy() -> None:
    paths = [f"group {number % 9} > class {number}" for number in range(3000)]
    assert repr(HierarchicalClassifier(Taxonomy.from_paths([path.split(" > ") for path in paths]))) == (
        "HierarchicalClassifier(taxonomy=Taxonomy(3009 nodes, 3000 classes, height 2))"
    )
    assert len(repr(HierCOSClassifier(paths))) < 2000


def test_the_usual_pace_gives_way_to_the_users() -> None:
    path = {"method": "path-softmax", "random_state": 0}
    slow = HierarchicalClassifier(UNEVEN, learning_rate=1e-5, epochs=2, **path).fit(X, Y)
    assert slow.n_iter_ == 2
    fast = HierarchicalClassifier(UNEVEN, epochs=2, **path).fit(X, Y)
    assert fast.history_[-1].loss < slow.history_[-1].loss
