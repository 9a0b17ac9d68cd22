from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from hiercos import Taxonomy
from hiercos.data import Dataset, Vectors
from hiercos.encoders import LabelledVectors, ReadConfig, SingleDevice, launched
from hiercos.errors import DataError
from hiercos.methods import METHODS, Committee, LabelledFeatures, MethodError, Model
from hiercos.methods.linear.convex import Prior
from hiercos.methods.linear.logistic import LogisticSolver
from hiercos.model import Classifier, Memory, ModelError
from hiercos.taxonomy import taxonomy_change
from hiercos.training import GrowthAccuracy, Settings, extended_model, fit, grown_features, grown_model

OLD = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
NEW = Taxonomy.from_paths([("vehicle", "car"), ("pet", "fish"), ("pet", "cat"), ("pet", "dog"), ("plant", "oak")])
OLD_CLASSES = [2, 3, 0]  # classes of NEW that are cat, dog and car
GROWING = [name for name in METHODS if METHODS.traits(name).grows]


@pytest.mark.parametrize("name", [*GROWING, "hier-cos, N-wide"])
def test_the_old_outputs_do_not_change(name: str) -> None:
    options = {"width": 6} if "width" in METHODS.options(name.partition(",")[0]) and "N-wide" not in name else {}
    torch.manual_seed(1)
    model = Model(OLD, 4, name.partition(",")[0], options).eval()
    model.standardize.fit(torch.randn(20, 4) * 3 + 1)
    grown = grown_model(model, taxonomy_change(OLD, NEW)).eval()
    features = torch.randn(5, 4)
    before, after = model(features), grown(features)
    nodes = [NEW.names.index(node) for node in OLD.names]
    columns = nodes if before.shape[1] == OLD.num_nodes else OLD_CLASSES
    torch.testing.assert_close(after[:, columns], before)


def test_a_new_axis_starts_from_its_parents_and_a_new_class_from_the_mean_beside_it() -> None:
    change = taxonomy_change(OLD, NEW)
    nodes, classes = (
        grown_model(Model(OLD, 4, name, options), change, seed=3)
        for name, options in (
            ("path-softmax", {"width": None, "dropout": 0.0}),
            ("cross-entropy", {}),
        )
    )
    weight = nodes.head[0][1].weight
    torch.testing.assert_close(weight[NEW.names.index("fish")], weight[NEW.names.index("pet")])
    assert not torch.equal(weight[NEW.names.index("plant")], weight[NEW.names.index("pet")])
    by_class = classes.head.weight
    torch.testing.assert_close(by_class[1], (by_class[2] + by_class[3]) / 2)  # fish from cat and dog


@pytest.mark.parametrize("name", [name for name in METHODS if not METHODS.traits(name).grows])
def test_a_method_whose_weights_follow_from_the_tree_is_refused(name: str) -> None:
    with pytest.raises(MethodError, match=f"^method '{name}' cannot take new classes from its weights alone; "):
        grown_model(Model(OLD, 4, name), taxonomy_change(OLD, NEW))


def test_a_fixed_random_basis_is_refused() -> None:
    with pytest.raises(
        MethodError, match=r"method 'hier-cos' with {'basis': 'random'} cannot be extended: head.basis is"
    ):
        grown_model(Model(OLD, 4, "hier-cos", {"basis": "random"}), taxonomy_change(OLD, NEW))


def test_a_memory_has_at_most_so_many_samples_of_each_label_and_is_kept_in_the_folder(tmp_path: Path) -> None:
    labels = torch.tensor([0, 1, 0, 0, 3, 0, 1])
    features = torch.arange(14.0).reshape(7, 2)
    memory = Memory.choose(features, labels, 2, seed=1)
    assert np.bincount(memory.labels).tolist() == [2, 2, 0, 1]
    for row, label in zip(memory.features, memory.labels, strict=True):
        place = int(row[0]) // 2
        assert labels[place] == label
        assert torch.equal(features[place], row)
    model = Model(OLD, 2, "cross-entropy")
    Classifier(model, None, memory=memory).save(tmp_path)
    found = Classifier.load(tmp_path).memory
    assert found is not None
    assert torch.equal(found.features, memory.features)
    assert torch.equal(found.labels, memory.labels)
    Classifier(model, None).save(tmp_path)
    assert Classifier.load(tmp_path).memory is None


def test_a_memory_of_sparse_features_is_kept_in_the_folder(tmp_path: Path) -> None:
    dense = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 3], [0, 4, 5]], dtype=np.float32)
    memory = Memory.choose(csr_matrix(dense), torch.tensor([0, 1, 0, 2]), 1)
    Classifier(Model(OLD, 3, "linear-svm"), None, memory=memory).save(tmp_path)
    found = Classifier.load(tmp_path).memory
    assert found is not None
    assert sorted(found.labels.tolist()) == [0, 1, 2]
    assert np.array_equal(found.features.toarray(), memory.features.toarray())
    assert found.features.shape == (3, 3)
    assert np.array_equal(found.rows(found.labels == 2).features.toarray(), dense[3:])


def test_a_memory_with_columns_beyond_its_width_is_refused(tmp_path: Path) -> None:
    features = csr_matrix(np.eye(3, dtype=np.float32))
    features.indices[1] = 7
    memory = Memory(features, torch.tensor([0, 1, 2]))
    Classifier(Model(OLD, 3, "linear-svm"), None, memory=memory).save(tmp_path)
    with pytest.raises(ModelError, match="the parts of the model do not fit together"):
        Classifier.load(tmp_path)


@pytest.mark.parametrize("remembered", [None, Memory(torch.zeros(1, 3), torch.tensor([2]))])
def test_data_without_a_sample_to_validate_on_are_refused(remembered: Memory | None) -> None:
    grown = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish")])  # no car, the first one remembered
    dataset = Dataset(
        "new", grown, Vectors(np.eye(2, 3)), grown.leaves[[2, 2]], np.array(["train"] * 2), purpose="extend"
    )
    stored, config = Classifier(Model(OLD, 3, "cross-entropy"), None), ReadConfig(SingleDevice("cpu"))
    with pytest.raises(DataError, match="no row belongs to the split 'val', and there is no remembered sample"):
        grown_features(stored, dataset, taxonomy_change(OLD, grown), remembered, config)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_logistic_regression_leaves_its_old_weights_as_far_as_its_prior_allows(kind: Any) -> None:
    model = Model(OLD, 5, "tree-logistic")
    torch.manual_seed(3)
    model.head.set(torch.randn(OLD.num_classes, 5), torch.randn(OLD.num_classes))
    extended = extended_model(model, taxonomy_change(OLD, NEW))
    assert isinstance(extended.solver, LogisticSolver)
    start = extended.head.weight.detach().clone()
    torch.testing.assert_close(start[OLD_CLASSES], model.head.weight.detach())
    labels = np.repeat(np.arange(5), 6)
    noise = 0.1 * np.random.default_rng(0).normal(size=(30, 5))
    samples = LabelledFeatures(kind((np.eye(5)[labels] + noise).astype(np.float32)), labels)
    assert (extended.array_scores(samples.features).argmax(axis=1) != labels).any()
    extended.solver.prior = Prior(1e-8)
    extended.solve(samples, None, seed=0)
    torch.testing.assert_close(extended.head.weight.detach(), start, atol=1e-3, rtol=0)
    extended.solver.prior = None  # to be chosen
    extended.solve(samples, samples, seed=0)
    assert (extended.array_scores(samples.features).argmax(axis=1) == labels).all()


def test_an_old_class_without_samples_keeps_its_bias() -> None:
    model = Model(OLD, 5, "logistic")
    model.head.set(torch.eye(3, 5), torch.tensor([0.5, 1.0, 1.5]))
    extended = extended_model(model, taxonomy_change(OLD, NEW))
    labels = np.repeat([1, 2, 3, 4], 6)  # no car
    noise = 0.1 * np.random.default_rng(0).normal(size=(24, 5))
    samples = LabelledFeatures((np.eye(5)[labels] + noise).astype(np.float32), labels)
    extended.solver.prior = Prior(1e-8)
    extended.solve(samples, None, seed=0)
    bias = extended.head.bias.detach()
    assert bias[OLD_CLASSES[2]] == pytest.approx(1.5, abs=1e-3)
    assert not torch.isclose(bias[OLD_CLASSES[:2]], torch.tensor([0.5, 1.0]), atol=1e-2).any()


@pytest.mark.parametrize("method", ["cross-entropy", "path-softmax"])
def test_a_feature_that_varies_in_new_samples_alone_is_learnt_from(method: str) -> None:
    old, new = Taxonomy.from_paths([("cat",), ("dog",)]), Taxonomy.from_paths([("cat",), ("dog",), ("fish",)])
    model = Model(old, 2, method)
    model.standardize.fit(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    extended = extended_model(model, taxonomy_change(old, new))
    seen = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [1.0, 7.0]]).repeat(20, 1)
    train = LabelledVectors(seen, torch.arange(3).repeat(20))
    config = Settings(method, epochs=60, batch_size=30, learning_rate=0.1, standardize=False)
    fit(launched("cpu"), extended, train, train, config)
    assert (extended.array_scores(seen.numpy()).argmax(axis=1) == train.labels.numpy()).all()
    scaled = extended.standardize(torch.tensor([[3.0, 0.0]])).tolist()[0]
    assert scaled == pytest.approx([3, 0])


def test_members_of_a_committee_that_grow_keep_their_weights_and_the_others_their_scale() -> None:
    torch.manual_seed(2)
    model = Model(OLD, 4, "committee", {"members": ["tree-logistic", "cross-entropy-mlp", "haframe"], "width": 6})
    assert isinstance(model.head, Committee)
    model.head.models()[0].head.set(torch.randn(OLD.num_classes, 4), torch.randn(OLD.num_classes))
    for member in model.head.models():
        member.standardize.fit(torch.randn(20, 4) * 3 + 1)
    extended = extended_model(model, taxonomy_change(OLD, NEW))
    assert isinstance(extended.head, Committee)
    assert extended.head.continues
    old, new = model.head.models(), extended.head.models()
    assert [member.method for member in new] == [member.method for member in old]
    features = torch.randn(5, 4)
    assert isinstance(new[0].solver, LogisticSolver)
    assert new[0].solver.earlier is not None
    torch.testing.assert_close(new[0].solver.earlier.weight[OLD_CLASSES], old[0].head.weight.detach())
    torch.testing.assert_close(new[1].eval()(features)[:, OLD_CLASSES], old[1].eval()(features))
    torch.testing.assert_close(new[2].standardize.mean, old[2].standardize.mean)
    with pytest.raises(MethodError, match=r"^method 'haframe' cannot be extended; methods that can: "):
        extended_model(Model(OLD, 4, "haframe"), taxonomy_change(OLD, NEW))


def right(*values: bool) -> "np.ndarray":
    return np.array(values, dtype=bool)


def test_old_and_new_classes_are_reported_apart() -> None:
    found = GrowthAccuracy(right(True, False), np.array([[True], [False]]), right(True), right())
    assert found.lines() == [
        "New classes: top-1 50.00% of 2 test rows.",
        "Old classes: top-1 100.00% of 1 test row; the old model: 0.00%.",
    ]
    none = np.zeros((2, 0), dtype=bool)
    assert GrowthAccuracy(right(True), none, right(True, False), right(True)).lines()[1:] == [
        "Old classes: top-1 50.00% of 2 rows held out in the training of the extension.",
        "The training of the old model held out other rows: top-1 100.00% of 1 row. hiercos evaluate NEW DATA "
        "--against OLD compares both models on the same rows.",
    ]


def test_what_cannot_be_measured_is_said() -> None:
    none = np.zeros((2, 0), dtype=bool)
    assert GrowthAccuracy(right(), none, right(), right()).lines() == [
        "New classes: not measured, the data have no test rows of them.",
        "Old classes: not measured, there are no test rows or remembered samples of them; hiercos evaluate measures "
        "the model on other data.",
    ]
