import json

import numpy as np
import pytest

from hiercos.data import Dataset, Vectors, load_dataset
from hiercos.data.text_features import TextFeatures, features_of
from trees import TOY

TEXTS = ["acute bronchitis", "chronic bronchitis", "asthma", "acute asthma", "fracture of femur", "open fracture"]


@pytest.fixture(scope="module")
def chapter() -> Dataset:
    return load_dataset("icd10cm:10")


def test_similar_texts_are_near_and_unknown_ones_are_zero() -> None:
    features = TextFeatures.fit(TEXTS, dim=6, seed=0)
    bronchitis, fracture, unknown = features.transform(["Bronchitis (acute)", "fractured femur", "??"])
    chronic, femur = features.transform(["chronic bronchitis", "fracture of femur"])
    assert bronchitis @ chronic > 10 * abs(bronchitis @ femur)
    assert fracture @ femur > 10 * abs(fracture @ chronic)
    assert not unknown.any()


def test_features_are_float32_with_a_mean_square_of_one_on_the_training_texts(chapter: Dataset) -> None:
    vectors, _ = features_of(chapter, dim=32)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(chapter), 32))
    assert np.square(vectors[chapter.rows("train")]).mean() == pytest.approx(1, rel=1e-3)


def test_the_number_of_features_is_capped_by_the_texts_and_their_ngrams() -> None:
    assert TextFeatures.fit(TEXTS, dim=256, seed=0).transform(["asthma"]).shape == (1, len(TEXTS))
    assert TextFeatures.fit(["a", "a", "b"], dim=256, seed=0).transform(["a"]).shape == (1, 2)
    assert TextFeatures.fit(["same", "same"], dim=1, seed=0).transform(["same"]) == pytest.approx(1.0)


def test_no_texts_give_no_rows() -> None:
    assert TextFeatures.fit(TEXTS, dim=3, seed=0).transform([]).shape == (0, 3)


def test_the_same_seed_gives_the_same_bits_and_only_training_texts_matter(chapter: Dataset) -> None:
    vectors, features = features_of(chapter, dim=16, seed=3)
    train = [chapter.inputs[row] for row in chapter.rows("train")]
    assert features is not None
    assert np.array_equal(TextFeatures.fit(train, 16, 3).transform(chapter.inputs), vectors)
    assert not np.array_equal(features_of(chapter, dim=16, seed=4)[0], vectors)


def test_the_state_goes_through_json_and_gives_the_same_bits(chapter: Dataset) -> None:
    vectors, features = features_of(chapter, dim=16)
    assert features is not None
    values, arrays = features.state()
    again = TextFeatures.from_state(json.loads(json.dumps(values)), arrays)
    assert np.array_equal(again.transform(chapter.inputs), vectors)
    assert all(isinstance(array, np.ndarray) and array.dtype == np.float32 for array in arrays.values())


def test_a_text_gets_the_same_bits_alone_as_among_many(chapter: Dataset) -> None:
    vectors, features = features_of(chapter, dim=16)
    assert features is not None
    for row in (0, 500, len(chapter) - 1):
        assert np.array_equal(features.transform([chapter.inputs[row]])[0], vectors[row])


def test_vectors_are_their_own_features() -> None:
    split = np.array(["train", "train", "val", "test"])
    dataset = Dataset("toy", TOY, Vectors(np.eye(4, dtype=np.float32)), np.array([0, 1, 2, 0]), split)
    vectors, features = features_of(dataset)
    assert features is None
    assert np.array_equal(vectors, np.eye(4))
