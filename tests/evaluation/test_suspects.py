"""Labels of images and vectors that contradict what a model learns from the other rows."""

from dataclasses import replace

import numpy as np
import pytest

from colours import TREE, colour_data
from hiercos.data import Dataset, Vectors
from hiercos.encoders import FineTunedEncoder
from hiercos.evaluation import suspects
from hiercos.model import Classifier, ModelError
from hiercos.training import Settings, train
from onnx_exports import _frozen_features

CONFIG = {"method": "tree-logistic"}
WRONG = [8, 41]  # training rows


def mislabelled(data: Dataset) -> Dataset:
    nodes = data.nodes.copy()
    nodes[WRONG] = TREE.leaves[3 - np.arange(len(nodes)) % 4][WRONG]
    return replace(data, nodes=nodes)


def test_wrong_labels_of_images_are_found_by_the_features_of_the_backbone() -> None:
    features = _frozen_features()
    stored = train(features, Settings(**CONFIG)).classifier
    found = suspects(stored, mislabelled(features.dataset), CONFIG, 2)
    assert {each.row for each in found} == {*WRONG}
    assert all(each.answer == TREE.leaves[each.row % 4] for each in found)


def test_wrong_labels_of_vectors_are_found() -> None:
    pixels = np.stack(
        [np.asarray(image).mean(axis=(0, 1)) / 255 for image in colour_data(160).inputs.values(range(160))]
    )
    data = mislabelled(replace(colour_data(160), inputs=Vectors(pixels)))
    stored = train(data, Settings(**CONFIG)).classifier
    assert {each.row for each in suspects(stored, data, CONFIG, 2)} == {*WRONG}


def test_a_backbone_that_has_learned_the_labels_cannot_judge_them() -> None:
    features = _frozen_features()
    stored = train(features, Settings(**CONFIG)).classifier
    tuned = Classifier(stored.model, FineTunedEncoder.__new__(FineTunedEncoder), stored.rule)
    with pytest.raises(ModelError, match="expected a model with frozen features"):
        suspects(tuned, features.dataset, CONFIG, 2)
