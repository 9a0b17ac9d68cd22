import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from hiercos import HierarchicalClassifier, HierCOSClassifier, Taxonomy
from hiercos.errors import DataError, UnknownLabelError
from hiercos.methods import Model
from hiercos.sklearn.training import Moments
from hiercos.taxonomy import LabelCodec
from sklearn_clouds import LEVELS, NAMES, PATHS, UNEVEN, samples

pytestmark = pytest.mark.filterwarnings("ignore:y. labels such as .* are names")  # most tests need no tree

X, LABELS = samples(240)


def streamed(model: HierarchicalClassifier, y: np.ndarray, passes: int = 3, size: int = 40, **first: object) -> object:
    for start in [*range(0, len(y), size)] * passes:
        model.partial_fit(X[start : start + size], y[start : start + size], **first)
    return model


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(0, 100))
def test_moments_of_batches_are_those_of_all_samples(sizes: list[int], seed: int) -> None:
    batches = [3 + 2 * torch.randn(size, 4, generator=torch.Generator().manual_seed(seed + size)) for size in sizes]
    moments, together = Moments.none(4), torch.cat(batches).double()
    for batch in batches:
        moments.add(batch)
    assert moments.count == len(together)
    torch.testing.assert_close(moments.mean, together.mean(dim=0))
    torch.testing.assert_close(moments.variance, together.var(dim=0, correction=0))
    torch.testing.assert_close(moments.largest, together.abs().amax(dim=0))


def test_a_feature_that_never_varies_is_zero() -> None:
    moments = Moments.none(2)
    moments.add(torch.tensor([[5.0, 1.0], [5.0, 3.0]]))
    model = Model(Taxonomy.from_paths([("a",), ("b",)]), 2, "cross-entropy")
    moments.scale(model)
    assert model.standardize(torch.tensor([[9.0, 3.0]])).tolist()[0] == pytest.approx([0, 1], abs=1e-20)


@pytest.mark.parametrize("method", ["cross-entropy", "path-softmax", "logistic"])
def test_a_new_class_is_learnt_by_a_feature_that_never_varied_before(method: str) -> None:
    features = np.float32([[1, 0], [-1, 0]] * 20)
    model = HierarchicalClassifier(method=method, learning_rate=0.1, random_state=0)
    model.fit(features, ["cat", "dog"] * 20)
    features, labels = np.float32([[1, 0], [-1, 0], [1, 9]] * 20), ["cat", "dog", "fish"] * 20
    model.partial_fit(features, labels, classes=["fish"])
    for _ in range(60):
        model.partial_fit(features, labels)
    assert model.predict(features).tolist() == labels


@pytest.mark.parametrize("estimator", [HierarchicalClassifier, HierCOSClassifier])
def test_batches_teach_as_much_as_all_samples_at_once(estimator: type) -> None:
    model = streamed(estimator(UNEVEN, random_state=0), NAMES[LABELS], passes=10)
    assert model.score(X, NAMES[LABELS]) > 0.97
    assert model.n_iter_ == 60
    np.testing.assert_allclose(model.model_.standardize.mean, X.mean(axis=0), atol=1e-5)


def test_three_passes_over_noisy_samples_come_within_two_points_of_fit() -> None:
    (learned, y), (others, true) = samples(3000, noise=3.0), samples(3000, seed=1, noise=3.0)
    at_once = HierarchicalClassifier(UNEVEN, width=64, random_state=0).fit(learned, y)
    model = HierarchicalClassifier(UNEVEN, random_state=0)
    for start in [*range(0, 3000, 500)] * 3:
        model.partial_fit(learned[start : start + 500], y[start : start + 500])
    assert model.score(others, true) > at_once.score(others, true) - 0.02


def test_the_same_seed_gives_the_same_stream() -> None:
    first, second = (streamed(HierarchicalClassifier(UNEVEN, random_state=3), LABELS, passes=1) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_classes_are_needed_first_unless_there_is_a_taxonomy() -> None:
    with pytest.raises(ValueError, match=r"^classes must be passed on the first call to partial_fit"):
        HierarchicalClassifier().partial_fit(X, LABELS)
    assert HierarchicalClassifier(UNEVEN).partial_fit(X[:2], NAMES[:2]).classes_.tolist() == sorted(NAMES)


@pytest.mark.parametrize("labels", [NAMES, PATHS, LEVELS, np.arange(4) + 7], ids=["names", "paths", "levels", "codes"])
def test_classes_may_have_every_form_of_labels(labels: np.ndarray) -> None:
    model = streamed(HierarchicalClassifier(random_state=0), labels[LABELS], classes=labels)
    assert model.score(X, labels[LABELS]) > 0.95
    assert model.predict(X[:4]).tolist() == labels.tolist()


@pytest.mark.parametrize("labels", [NAMES, PATHS, LEVELS], ids=["names", "paths", "levels"])
def test_new_classes_may_come_later(labels: np.ndarray) -> None:
    old = LABELS < 3
    model = HierarchicalClassifier(random_state=0).partial_fit(X[old], labels[LABELS[old]], classes=labels[:3])
    before = model.predict_proba(X[:3])
    assert before.shape[1] == 3
    model.partial_fit(X, labels[LABELS], classes=labels[3:])
    for _ in range(20):
        model.partial_fit(X, labels[LABELS])
    assert model.predict_proba(X[:3]).shape[1] == 4
    assert model.score(X, labels[LABELS]) > 0.95


def test_a_larger_taxonomy_may_be_set_later() -> None:
    small = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog")])
    large = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("plant",)])
    model = HierarchicalClassifier(small, random_state=0).partial_fit(X[:40], np.array(["cat", "dog"])[LABELS[:40] % 2])
    weight = model.model_.head[0][1].weight.detach()
    model.set_params(taxonomy=large).partial_fit(X[:2], ["fish", "plant"])
    assert model.classes_.tolist() == ["cat", "dog", "fish", "plant"]
    assert model.model_.head[0][1].weight.shape[0] == large.num_nodes
    assert weight.shape[0] == small.num_nodes


def test_unknown_labels_are_refused() -> None:
    model = HierarchicalClassifier().partial_fit(X, NAMES[LABELS], classes=NAMES)
    with pytest.raises(DataError, match=r"^y: row 2: unknown label 'cow'; expected one of the 4 labels"):
        model.partial_fit(X[:2], ["cat", "cow"])
    with pytest.raises(DataError, match=r"^y: row 1: unknown label 'cow'"):
        HierarchicalClassifier(UNEVEN).partial_fit(X[:2], ["cow", "cat"])


def test_new_classes_without_their_argument_are_refused_with_it() -> None:
    flat = HierarchicalClassifier().partial_fit(X, NAMES[LABELS], classes=NAMES)
    with pytest.raises(DataError) as error:
        flat.partial_fit(X[:2], ["cat", "cow"])
    assert str(error.value).endswith("\ny: new classes are added by partial_fit(X, y, classes=[...])")
    in_tree = HierarchicalClassifier(UNEVEN).partial_fit(X, NAMES[LABELS])
    for classes in (None, ["cow"]):
        with pytest.raises(DataError) as error:
            in_tree.partial_fit(X[:2], ["cow", "cow"], classes=classes)
        assert str(error.value).endswith("'cow'\ny: new classes are added by set_params(taxonomy=...)")


def test_labels_of_another_form_are_refused_without_a_hint_on_new_classes() -> None:
    model = HierarchicalClassifier().partial_fit(X, NAMES[LABELS], classes=NAMES)
    with pytest.raises(
        DataError, match=r"^y: expected labels of shape \(samples,\) as in the first fit, got \(240, 3\)$"
    ):
        model.partial_fit(X, LEVELS[LABELS])


def test_unknown_labels_by_level_are_refused_with_the_argument_that_adds_them() -> None:
    model = HierarchicalClassifier().partial_fit(X, LEVELS[LABELS], classes=LEVELS)
    with pytest.raises(
        UnknownLabelError, match=r"is not a node of the taxonomy\ny: new classes are added by partial_fit"
    ):
        model.partial_fit(X[:2], [["pet", "cow"], ["pet", "cow"]])


def test_the_labels_of_a_later_call_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HierarchicalClassifier().partial_fit(X, NAMES[LABELS], classes=NAMES)
    read, calls = LabelCodec.read, []
    monkeypatch.setattr(LabelCodec, "read", lambda codec, y: calls.append(len(y)) or read(codec, y))
    model.partial_fit(X, NAMES[LABELS])
    assert calls == [len(X)]


def test_a_call_that_is_refused_leaves_no_trace() -> None:
    model = HierarchicalClassifier(UNEVEN, random_state=0)
    with pytest.raises(DataError, match="unknown label 'cow'"):
        model.partial_fit(X[:2], ["cow", "cat"])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="expected device to be one of"):
        model.set_params(device="gpu0").partial_fit(100 + X, LABELS)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.model_.standardize.mean, X.mean(axis=0), atol=1e-5)
    assert model.set_params(device="cpu").partial_fit(X, LABELS).n_iter_ == 2


def test_a_fitted_model_goes_on_with_its_scale_and_fit_starts_anew() -> None:
    model = HierarchicalClassifier(UNEVEN, method="path-softmax", epochs=2, random_state=0).fit(X, LABELS)
    scale, before = model.model_.standardize.mean.clone(), model.predict_proba(X)
    model.partial_fit(10 + X, LABELS)
    assert model.model_.standardize.mean.equal(scale)
    assert not np.allclose(model.predict_proba(X), before)
    np.testing.assert_array_equal(model.fit(X, LABELS).predict_proba(X), before)


def test_weights_count_in_a_stream() -> None:
    weights = np.where(LABELS == 1, 0.0, 1.0)
    model = HierarchicalClassifier(UNEVEN, random_state=0)
    for _ in range(10):
        model.partial_fit(X, NAMES[LABELS], sample_weight=weights)
    assert "dog" not in model.predict(X)
