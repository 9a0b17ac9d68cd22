import numpy as np
import pytest
import torch

from hiercos.encoders.tfidf import TextFeatures
from hiercos.methods import Projection, Standardize, csr_tensor

SUBJECTS = ("pump", "valve", "lamp", "chair", "table", "kettle", "mirror", "ladder", "drill", "brush")
SUBJECTS += ("hammer", "bucket", "carpet", "pillow", "bottle")  # one for each of 15 classes
QUALITIES = ("red", "small", "old", "heavy", "steel", "wooden", "cheap", "folding", "garden", "spare")


def short_texts(count: int, seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    pairs = [generator.choice(QUALITIES, size=2, replace=False) for _ in range(count)]
    return [f"{first} {second} {SUBJECTS[row % 15]}" for row, (first, second) in enumerate(pairs)]


@pytest.mark.parametrize("count", [120, 240])
def test_unseen_texts_stay_near_the_training_texts_where_these_are_fewer_than_the_features(count: int) -> None:
    features = TextFeatures.fit(short_texts(count, seed=0))
    seen = features.transform(short_texts(count, seed=0))
    projection = Projection.fit(seen, dim=256, seed=0)
    standardize = Standardize(projection.num_features)
    standardize.fit(projection(csr_tensor(seen)))
    unseen = features.transform([*short_texts(500, seed=1), "a green lampshade", "pump"])
    assert standardize(projection(csr_tensor(unseen))).abs().max() < 50


def test_features_are_scaled_to_mean_zero_and_variance_one() -> None:
    features = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    standardize = Standardize(2)
    standardize.fit(features)
    assert standardize(features).tolist() == [[-1, -1], [1, 1]]


def test_a_feature_that_varies_by_rounding_alone_is_zero_also_where_unseen_samples_differ() -> None:
    features = torch.tensor([[100.0, 1e-9], [100.0 + 2**-16, 3e-9]])
    standardize = Standardize(2)
    standardize.fit(features)
    unseen = torch.tensor([[1e4, 4e-9], [-1e4, 0.0]])
    assert standardize(unseen)[:, 0].tolist() == pytest.approx([0, 0], abs=1e-20)
    assert standardize(unseen)[:, 1].tolist() == pytest.approx([2, -2])
