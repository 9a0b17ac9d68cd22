import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hiercos.nn.backbones import ImageTransform
from hiercos.nn.backbones.preprocessing import central_box
from nn.backbones.photos import noise


def as_scaled(image: Image.Image, transform: ImageTransform) -> np.ndarray:
    """(value / 255 - mean) / std, one image at a time, shape (3, S, S)."""
    values = np.asarray(image, dtype=np.float64) / 255
    return ((values - np.array(transform.mean)) / np.array(transform.std)).transpose(2, 0, 1)


def test_colours_are_scaled_by_hand_worked_numbers() -> None:
    transform = ImageTransform(1, mean=(0.5, 0.0, 0.2), std=(0.5, 1.0, 0.1))
    batch = transform([Image.new("RGB", (1, 1), (255, 0, 51)), Image.new("RGB", (1, 1), (0, 255, 102))])
    expected = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 1.0, 2.0]])
    torch.testing.assert_close(batch.view(2, 3), expected, atol=1e-6, rtol=0)


def test_a_batch_is_float32_and_channels_last() -> None:
    batch = ImageTransform(12)([noise(20, 10), noise(7, 9)])
    assert (batch.shape, batch.dtype) == ((2, 3, 12, 12), torch.float32)
    assert batch.is_contiguous(memory_format=torch.channels_last)


def test_images_of_the_right_size_keep_their_pixels() -> None:
    transform, image = ImageTransform(16), noise(16, 16)
    np.testing.assert_allclose(transform([image])[0].numpy(), as_scaled(image, transform), atol=1e-5)


@pytest.mark.parametrize("interpolation", ["nearest", "lanczos", "bilinear", "bicubic"])
def test_squash_resizes_the_whole_image_whatever_its_shape(interpolation: str) -> None:
    transform, image = ImageTransform(10, interpolation=interpolation), noise(31, 17)
    expected = image.resize((10, 10), Image.Resampling[interpolation.upper()])
    np.testing.assert_allclose(transform([image])[0].numpy(), as_scaled(expected, transform), atol=1e-5)


@given(width=st.integers(1, 90), height=st.integers(1, 90), share=st.sampled_from([0.7, 0.875, 0.95, 1.0]))
@settings(max_examples=60, deadline=None)
def test_crop_is_resizing_first_and_cutting_then(width: int, height: int, share: float) -> None:
    size, image = 14, noise(width, height).point(lambda value: 64 + value // 2)  # no overshoot to cut off
    transform = ImageTransform(size, mean=(0, 0, 0), std=(1, 1, 1), fit="crop", crop_share=share)
    shorter = int(size / share)
    sides = [math.floor(Fraction(side * shorter, min(width, height))) for side in (width, height)]
    left, upper = (round((side - size) / 2) for side in sides)
    cut = image.resize(tuple(sides), Image.Resampling.BICUBIC).crop((left, upper, left + size, upper + size))
    difference = transform([image])[0].numpy() - as_scaled(cut, transform)
    assert np.abs(difference).max() <= 2.01 / 255  # Pillow rounds to whole colours on the way


@given(width=st.integers(1, 5000), height=st.integers(1, 5000), share=st.floats(0.1, 1.0))
def test_the_central_box_stays_within_the_image(width: int, height: int, share: float) -> None:
    left, upper, right, lower = central_box(width, height, 224, share)
    assert 0 <= left < right <= width + 1e-6
    assert 0 <= upper < lower <= height + 1e-6


def test_the_central_box_is_the_middle() -> None:
    assert central_box(100, 300, 50, 0.5) == (25.0, 125.0, 75.0, 175.0)


def test_other_modes_become_colours() -> None:
    grey = noise(9, 9).convert("L")
    transform = ImageTransform(9)
    torch.testing.assert_close(transform([grey]), transform([grey.convert("RGB")]))


def test_no_images_are_an_empty_batch() -> None:
    assert ImageTransform(5)([]).shape == (0, 3, 5, 5)


def test_a_transform_survives_json_and_pickle() -> None:
    transform = ImageTransform(8, mean=[0.1, 0.2, 0.3], fit="crop", crop_share=0.9, interpolation="nearest")
    assert ImageTransform(**json.loads(json.dumps(transform.to_dict()))) == transform
    assert pickle.loads(pickle.dumps(transform)) == transform
    assert hash(transform) == hash(ImageTransform(**transform.to_dict()))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"fit": "stretch"}, "fit to be one of squash, crop, got 'stretch'"),
        ({"interpolation": "cubic"}, "interpolation to be one of"),
        ({"size": 0}, "size of at least 1"),
        ({"crop_share": 0.0}, "crop_share above 0"),
        ({"mean": (1.0, 2.0)}, "three means"),
        ({"std": (1.0, 2.0, 0.0)}, "positive stds"),
    ],
)
def test_a_wrong_field_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ImageTransform(**{"size": 8, **fields})
