import hashlib
import io
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hiercos.data.dataset import Dataset
from hiercos.data.images.collections import EncodedImages, ImageError, ImageFiles, Images, PixelImages
from hiercos.training import features_of
from trees import TOY

COLOURS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0))
PIXELS = np.array([np.full((2, 3, 3), colour) for colour in COLOURS], dtype=np.uint8)
NAMES = tuple(f"train.bin, image {number}" for number in (1, 2, 3, 4))


def png(colour: tuple[int, int, int]) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (3, 2), colour).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(params=["files", "pixels", "encoded"])
def images(request: pytest.FixtureRequest, tmp_path: Path) -> Images:
    """Four images of one colour each, 3 wide and 2 high, in one of the kinds."""
    if request.param == "pixels":
        return PixelImages(PIXELS, NAMES)
    contents = [png(colour) for colour in COLOURS]
    if request.param == "encoded":
        return EncodedImages(contents, NAMES)
    for number, content in enumerate(contents):
        (tmp_path / f"{number}.png").write_bytes(content)
    return ImageFiles([tmp_path / f"{number}.png" for number in range(4)])


def colours(images: Images) -> list[tuple[int, ...]]:
    return [images.open(row).getpixel((0, 0)) for row in range(len(images))]  # type: ignore[misc]


def test_images_are_opened_by_row_in_rgb(images: Images) -> None:
    assert (len(images), colours(images)) == (4, list(COLOURS))
    assert (images.open(0).size, images.open(0).mode) == ((3, 2), "RGB")


def test_a_part_keeps_names_and_order_and_may_be_taken_from_again(images: Images) -> None:
    part = images.take([3, 0, 2]).take(np.array([0, 2]))
    assert colours(part) == [COLOURS[3], COLOURS[2]]
    assert [part.name(0), part.name(1)] == [images.name(3), images.name(2)]


def test_every_kind_survives_pickling(images: Images) -> None:
    assert colours(pickle.loads(pickle.dumps(images.take([2, 1])))) == [COLOURS[2], COLOURS[1]]


def test_digests_are_of_the_content_and_go_with_the_parts(images: Images) -> None:
    expected = [hashlib.sha256(images.content(row)).digest() for row in range(4)]
    assert [digest.tobytes() for digest in images.digests] == expected == images.split_keys()
    assert np.array_equal(images.take([2, 0]).digests, images.digests[[2, 0]])


def test_known_digests_are_not_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(png(COLOURS[0]))
    images = ImageFiles([file])
    known = images.digests
    file.unlink()
    assert images.digests is known
    assert np.array_equal(images.take([0]).digests, known)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError) as caught:
        ImageFiles([tmp_path / "none.png"]).open(0)
    assert str(caught.value) == f"{tmp_path / 'none.png'}: the file cannot be read (No such file or directory)"


def test_pixels_of_another_shape_and_missing_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected pixels of shape \(M, H, W, 3\) and type uint8, got \(4, 2, 3\)"):
        PixelImages(PIXELS[..., 0], NAMES)
    with pytest.raises(ValueError, match="expected a name for each of 4 images, got 3"):
        PixelImages(PIXELS, NAMES[:3])
    with pytest.raises(ValueError, match="expected a name for each of 1 images, got 4"):
        EncodedImages([b""], NAMES)


def dataset(images: Images) -> Dataset:
    return Dataset("toy", TOY, images, TOY.leaves[[0, 1, 2, 0]], np.array(["train", "train", "val", "test"]))


def test_images_are_inputs_of_a_data_set(images: Images) -> None:
    data = dataset(images)
    assert (data.kind, len(data), data.inputs) == ("images", 4, images)
    part = data.inputs.take(data.rows("train"))
    assert isinstance(part, Images)
    assert colours(part) == list(COLOURS[:2])
    with pytest.raises(ValueError, match="toy holds images: expected a backbone"):
        features_of(data)


def test_the_fingerprint_of_images_is_of_their_content(images: Images, tmp_path: Path) -> None:
    copies = [tmp_path / f"copy {row}" for row in range(4)]
    for row, copy in enumerate(copies):
        copy.write_bytes(images.content(row))
    data = dataset(images)
    assert replace(data, inputs=ImageFiles(copies)).fingerprint == data.fingerprint
    assert replace(data, inputs=images.take([0, 1, 3, 2])).fingerprint != data.fingerprint
