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

from encoders.backbones.photos import noise
from hiercos.encoders.backbones import ImageTransform, TrainTransform
from hiercos.encoders.backbones.preprocessing import central_box, mirrored, random_box, shifted

PLAIN = ImageTransform(12, mean=(0, 0, 0), std=(1, 1, 1))


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
        ({"size": 0}, "size of 1 to 8192"),
        ({"crop_share": 0.0}, "crop_share above 0"),
        ({"mean": (1.0, 2.0)}, "three means"),
        ({"std": (1.0, 2.0, 0.0)}, "positive stds"),
    ],
)
def test_a_wrong_field_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ImageTransform(**{"size": 8, **fields})


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("augment", ["pad-crop", "resized-crop"])
def test_the_generator_alone_decides(augment: str) -> None:
    images = [noise(20, 15, seed) for seed in range(6)]
    transform = TrainTransform(PLAIN, augment)
    torch.manual_seed(1)
    first = transform(images, seeded(3))
    torch.manual_seed(2)
    assert torch.equal(first, transform(images, seeded(3)))
    assert not torch.equal(first, transform(images, seeded(4)))


@pytest.mark.parametrize("augment", ["none", "pad-crop", "resized-crop"])
def test_a_batch_has_the_shape_and_the_memory_of_the_transform(augment: str) -> None:
    batch = TrainTransform(PLAIN, augment)([noise(20, 15), noise(3, 40)], seeded())
    assert (batch.shape, batch.dtype) == ((2, 3, 12, 12), torch.float32)
    assert batch.is_contiguous(memory_format=torch.channels_last)


def test_none_is_the_transform_and_draws_nothing() -> None:
    generator, images = seeded(), [noise(20, 15)]
    before = generator.get_state()
    assert torch.equal(TrainTransform(PLAIN, "none")(images, generator), PLAIN(images))
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize(("side", "padding"), [(32, 4), (16, 2), (6, 1)])
@pytest.mark.parametrize("border", ["reflect", "zero"])
def test_a_shifted_image_is_one_of_the_crops_of_the_padded_one(border: str, side: int, padding: int) -> None:
    batch = np.random.default_rng(0).integers(1, 256, (400, side, side, 3), dtype=np.uint8)
    batch[:] = batch[0]
    last = side - 1
    places = [last - abs(last - abs(place)) for place in range(-padding, side + padding)]  # mirrored at both ends
    padded = batch[0][places][:, places]
    if border == "zero":
        padded[np.array(range(-padding, side + padding)) != places] = 0
        padded[:, np.array(range(-padding, side + padding)) != places] = 0
    starts = range(2 * padding)
    crops = {padded[top : top + side, left : left + side].tobytes(): (top, left) for top in starts for left in starts}
    found = {crops[crop.tobytes()] for crop in shifted(batch, border, seeded())}
    assert found == {(top, left) for top in starts for left in starts}


def test_half_of_the_images_are_mirrored() -> None:
    batch = np.arange(6, dtype=np.uint8).reshape(1, 1, 2, 3).repeat(2000, axis=0)
    out = mirrored(batch.copy(), seeded())
    kinds, counts = np.unique(out.reshape(2000, 6), axis=0, return_counts=True)
    assert kinds.tolist() == [[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]]
    assert abs(int(counts[0]) - 1000) < 100


def test_random_boxes_are_within_the_image_with_the_shares_and_ratios_of_the_paper() -> None:
    generator = seeded()
    boxes = np.array([random_box(400, 300, generator) for _ in range(2000)])
    left, upper, right, lower = boxes.T
    assert (left >= 0).all()
    assert (upper >= 0).all()
    assert (right <= 400).all()
    assert (lower <= 300).all()
    shares = (right - left) * (lower - upper) / 120_000
    ratios = (right - left) / (lower - upper)
    assert 0.079 < shares.min() < 0.09
    assert 0.95 < shares.max() <= 1
    assert 0.74 < ratios.min() < 0.76
    assert 1.32 < ratios.max() < 1.35


@pytest.mark.parametrize(
    ("size", "box"),
    [((1000, 3), (498, 0, 502, 3)), ((3, 1000), (0, 498, 3, 502)), ((1, 1), (0, 0, 1, 1))],
)
def test_an_image_that_is_too_long_gives_its_middle(size: tuple[int, int], box: tuple[int, ...]) -> None:
    assert random_box(*size, seeded()) == box


def test_a_resized_crop_is_the_box_resized() -> None:
    image = noise(40, 30)
    batch = TrainTransform(PLAIN, "resized-crop")([image], seeded(5))[0]
    generator = seeded(5)
    expected = image.resize((12, 12), 3, random_box(40, 30, generator))
    values = np.asarray(expected)[:, ::-1] if torch.rand(1, generator=generator) < 0.5 else np.asarray(expected)
    np.testing.assert_allclose(batch.permute(1, 2, 0).numpy(), values / 255, atol=1e-6)


def test_a_train_transform_survives_pickle_and_tells_its_fields_as_json() -> None:
    transform = TrainTransform(PLAIN, "pad-crop", border="zero")
    assert pickle.loads(pickle.dumps(transform)) == transform
    assert json.loads(json.dumps(transform.to_dict())) == {
        "transform": PLAIN.to_dict(),
        "augment": "pad-crop",
        "border": "zero",
    }


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="augment to be one of none, pad-crop, resized-crop, got 'cutout'"):
        TrainTransform(PLAIN, "cutout")
    with pytest.raises(ValueError, match="border to be one of reflect, zero, got 'edge'"):
        TrainTransform(PLAIN, "pad-crop", border="edge")
