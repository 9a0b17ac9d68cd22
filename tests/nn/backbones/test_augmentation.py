import json
import pickle

import numpy as np
import pytest
import torch

from hiercos.nn.backbones import ImageTransform, TrainTransform
from hiercos.nn.backbones.augmentation import mirrored, random_box, shifted
from nn.backbones.photos import noise

PLAIN = ImageTransform(12, mean=(0, 0, 0), std=(1, 1, 1))


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


@pytest.mark.parametrize("border", ["reflect", "zero"])
def test_a_shifted_image_is_one_of_the_64_crops_of_the_padded_one(border: str) -> None:
    batch = np.random.default_rng(0).integers(1, 256, (400, 6, 6, 3), dtype=np.uint8)
    batch[:] = batch[0]
    image = batch[0].astype(int)
    padded = np.zeros((14, 14, 3), dtype=int)
    for row in range(14):
        for column in range(14):
            source = [abs(place) if place < 6 else 10 - place for place in (row - 4, column - 4)]
            inside = 4 <= row < 10 and 4 <= column < 10
            if border == "reflect" or inside:
                padded[row, column] = image[source[0], source[1]]
    crops = {
        padded[top : top + 6, left : left + 6].astype(np.uint8).tobytes(): (top, left)
        for top in range(8)
        for left in range(8)
    }
    found = {crops[crop.tobytes()] for crop in shifted(batch, border, seeded())}
    assert found == {(top, left) for top in range(8) for left in range(8)}


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
