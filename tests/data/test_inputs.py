import hashlib
import pickle

import numpy as np
import pytest

from hiercos.data import Inputs, PixelImages, Texts, Vectors

TEXTS = Texts(["A cat", "a  dog", "a car"])
VECTORS = Vectors(np.arange(6).reshape(3, 2))
IMAGES = PixelImages(np.arange(36, dtype=np.uint8).reshape(3, 2, 2, 3), ["one", "two", "three"])


@pytest.mark.parametrize("inputs", [TEXTS, VECTORS, IMAGES])
def test_every_kind_is_taken_pickled_and_digested_alike(inputs: Inputs) -> None:
    part = inputs.take([2, 0])
    assert (type(part), part.kind, len(part)) == (type(inputs), inputs.kind, 2)
    assert [part.content(row) for row in range(2)] == [inputs.content(2), inputs.content(0)]
    assert bytes(inputs.digests[1]) == hashlib.sha256(inputs.content(1)).digest()
    assert np.array_equal(inputs.take([1]).digests, inputs.digests[1:2])
    again = pickle.loads(pickle.dumps(inputs))
    assert list(again.fingerprint_parts()) == list(inputs.fingerprint_parts())


def test_texts_are_a_sequence_and_split_by_their_words() -> None:
    assert (TEXTS[1], TEXTS[:2], list(TEXTS)) == ("a  dog", ("A cat", "a  dog"), ["A cat", "a  dog", "a car"])
    assert (TEXTS.split_keys(), TEXTS.name(1), TEXTS.shown(2)) == (
        ["a cat", "a dog", "a car"],
        "text 2",
        {"text": "a car"},
    )


def test_vectors_are_an_array_of_float32_that_is_not_copied() -> None:
    array = np.ones((2, 3), np.float32)
    assert np.shares_memory(np.asarray(Vectors(array)), array)
    assert np.asarray(Vectors(array), dtype=np.float64).dtype == np.float64
    assert (VECTORS.shown(0), VECTORS.name(0), VECTORS.content(1)) == ({}, "vector 1", np.float32([2, 3]).tobytes())


def test_images_show_their_name_and_pixels_need_no_decoding() -> None:
    assert (IMAGES.shown(1), IMAGES.needs_decoding, IMAGES.values([0])[0].size) == ({"image": "two"}, False, (2, 2))
