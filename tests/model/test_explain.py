"""Reasons for answers: words and columns, their sum, and what is said where there are none."""

import numpy as np
import pytest
import torch

from colours import small_backbone
from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.data import Texts, Vectors
from hiercos.decisions import Posterior, rule
from hiercos.encoders import FrozenEncoder
from hiercos.methods import Model
from hiercos.model import Classifier, explanations
from trees import TOY

POSTERIOR = Posterior([[0.5, 0.125, 0.375], [0.4, 0.35, 0.25], [0.3, 0.3, 0.4]], TOY)
TEXTS = [f"a {word} thing, number {place}" for place in range(20) for word in ("furry cat", "loud dog", "metal car")]
LABELS = ["cat", "dog", "car"] * 20


def test_the_runner_up_is_the_likeliest_class_outside_the_answer() -> None:
    vectors = Vectors(np.zeros((3, 2)))
    found = explanations(vectors, POSTERIOR, rule("back-off", confidence=0.7)(POSTERIOR))
    assert [each["runner_up"] for each in found] == ["", "car", ""]  # nothing is outside the root
    assert [each["runner_up_confidence"] for each in found] == [None, 0.25, None]
    assert [each["because"] for each in found] == ["", "unavailable", ""]
    found = explanations(vectors, POSTERIOR, rule("none")(POSTERIOR))
    assert [each["runner_up"] for each in found] == ["car", "dog", "cat"]
    assert found[0]["criterion"] == "class score"


def test_classes_that_are_not_allowed_are_no_runners_up() -> None:
    allowed = POSTERIOR.within([TOY.names.index("pet")])
    (first, *_) = explanations(Vectors(np.zeros((3, 2))), allowed, rule("none")(allowed))
    assert first["runner_up"] == "dog"


def test_weights_and_rest_sum_to_the_log_odds_of_a_linear_head() -> None:
    model = Model(TOY, 3, "logistic")
    weight = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, 0.5, 0.0]])  # cat, dog, car
    model.head.set(weight, torch.tensor([0.5, 0.0, 0.0]))
    classifier = Classifier(model.eval(), None, temperature=2.0)
    (answer,) = classifier.answers(np.array([[1.0, 2.0, 1.0]]), explain=True)
    pet, cat = answer["reasons"]  # scores 3.5, 1, 0
    assert (answer["class"], answer["runner_up"]) == ("cat", "dog")
    assert (pet["node"], pet["against"], cat["node"], cat["against"]) == ("pet", "car", "cat", "dog")
    assert pet["features"] == [{"feature": "feature 1", "weight": 1.5}, {"feature": "feature 3", "weight": 0.5}]
    assert cat["features"] == [{"feature": "feature 1", "weight": 1.0}, {"feature": "feature 3", "weight": 1.0}]
    assert pet["rest"] == pytest.approx((0.5 - 1.0) / 2)  # the bias, and the second feature, which speaks for the car
    assert cat["rest"] == pytest.approx((0.5 - 2.0) / 2)
    posterior = classifier.posterior(np.array([[1.0, 2.0, 1.0]]))
    log_odds = posterior.logs[0, 0] - posterior.logs[0, 2]
    assert sum(each["weight"] for each in pet["features"]) + pet["rest"] == pytest.approx(log_odds, abs=1e-5)
    assert answer["because"] == "feature 1 +1.0, feature 3 +1.0 (against dog)"


def test_columns_of_features_are_reasons_where_the_backbone_takes_images() -> None:
    backbone = small_backbone()
    model = Model(TOY, backbone.num_features, "logistic").eval()
    features = np.eye(backbone.num_features, dtype=np.float32)[:1]
    with torch.no_grad():
        model.head.weight[0, 0] = 3.0
    (answer,) = Classifier(model, FrozenEncoder(backbone)).answers(Vectors(features), explain=True)
    assert answer["because"] == "feature 1 +3.0 (against dog)"


@pytest.mark.parametrize("method", ["tree-logistic", "linear-svm", "siblings"])
def test_words_are_the_reasons_for_a_text(method: str) -> None:
    estimator = HierarchicalClassifier(TOY, method=method).fit(TEXTS, LABELS)
    (why,) = estimator.explain(["A furry cat!"])
    pet, cat = why["reasons"]
    assert {each["feature"] for each in cat["features"][:2]} == {"furry", "cat"}
    assert why["because"].startswith(f'"{cat["features"][0]["feature"]}" +')
    posterior = estimator.classifier_.posterior(["A furry cat!"])
    rival = TOY.class_names.index(pet["against"])
    total = sum(each["weight"] for each in pet["features"]) + pet["rest"]
    assert total == pytest.approx(posterior.logs[0, 0] - posterior.logs[0, rival], abs=1e-4)


def test_a_class_at_the_top_has_one_node_to_speak_for() -> None:
    flat = Taxonomy.from_paths([("cat",), ("car",)])
    labels = [label for label in LABELS if label in flat.class_names]
    texts = [text for text, label in zip(TEXTS, LABELS, strict=True) if label in flat.class_names]
    (why,) = HierarchicalClassifier(flat, method="siblings").fit(texts, labels).explain(["a furry cat"])
    assert [each["node"] for each in why["reasons"]] == ["cat"]


def test_columns_have_the_names_of_a_table_and_nodes_their_paths_where_a_name_is_not_unique() -> None:
    pandas = pytest.importorskip("pandas")
    tree = Taxonomy.from_paths([("cats", "wild"), ("cats", "tame"), ("dogs", "wild")])
    columns = np.eye(3)[[0, 1, 2] * 20]
    frame = pandas.DataFrame(columns, columns=["roars", "purrs", "howls"])
    labels = [tree.path_text(int(tree.leaves[label])) for label in [0, 1, 2] * 20]
    (why,) = HierarchicalClassifier(tree, method="logistic").fit(frame, labels).explain(frame[:1])
    assert why["reasons"][-1]["node"] == "cats > wild"
    assert why["reasons"][-1]["features"][0]["feature"] == "roars"
    assert why["runner_up"] in {"tame", "dogs > wild"}


def test_energies_are_the_reasons_of_hier_cos() -> None:
    shares = np.array([[0.5, 0.1, 0.2, 0.1, 0.1]])  # pet, vehicle, cat, dog, car
    posterior = Posterior([[0.5, 0.125, 0.375]], TOY, energies=shares)
    (found,) = explanations(Texts(["a"]), posterior, rule("none")(posterior))
    assert found["because"] == "energy on pet 0.50, energy on cat 0.20 (against car)"
    assert found["reasons"][1] == {"node": "cat", "against": "car", "features": [{"feature": "energy", "weight": 0.2}]}
