"""Embedding: the right features, made once, in little memory, and nothing lost by a kill."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from PIL import Image

from colours import colour_data, colour_images, pixels, small_backbone
from ends import ends
from hiercos.data import Texts
from hiercos.data.images.collections import EncodedImages, ImageError, ImageFiles, PixelImages
from hiercos.encoders import EmbeddingError, ReadConfig, embed
from hiercos.encoders.batches import AHEAD
from hiercos.encoders.embedding import embed_dataset, feature_key
from hiercos.errors import HiercosWarning
from pictures import encoded
from trees import TOY

COUNT = 50
HEADER = 128  # bytes before the rows of an .npy file


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Watch:
    """Writes down what it is told, and stops the embedding after so many rows."""

    def __init__(self, last: int | None = None) -> None:
        self.last, self.already, self.done, self.closed = last, -1, 0, False

    def start(self, done: int, total: int) -> None:
        self.already = done

    def rows(self, done: int) -> None:
        self.done = done
        if self.last is not None and done >= self.last:
            raise KeyboardInterrupt

    def close(self) -> None:
        self.closed = True


def expected_features(count: int = COUNT) -> torch.Tensor:
    backbone, images = small_backbone().eval(), colour_images(count)
    with torch.no_grad():
        return backbone(backbone.preprocess([images.open(row) for row in range(count)]))


@pytest.mark.parametrize(("batch_size", "workers"), [(None, 0), (7, 0), (7, 2)])
def test_features_are_the_backbones_in_order(fabric: Fabric, batch_size: int | None, workers: int) -> None:
    found = embed(ReadConfig(fabric, batch_size, workers), small_backbone(), colour_images(COUNT))
    assert found.computed == COUNT
    torch.testing.assert_close(torch.from_numpy(np.load(found.path)), expected_features())


def test_the_same_content_is_embedded_once_whatever_it_is_called(fabric: Fabric, tmp_path: Path) -> None:
    contents = [encoded(Image.fromarray(image)) for image in pixels(6)]
    paths = [tmp_path / f"{row}.png" for row in range(6)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    first = embed(ReadConfig(fabric), small_backbone(), ImageFiles(paths))
    watch = Watch()
    again = embed(ReadConfig(fabric, callback=watch), small_backbone(), EncodedImages(contents, ["x"] * 6))
    assert (first.computed, again.computed) == (6, 0)
    assert again.path == first.path
    assert watch.already == -1  # it was never told of a start


def test_another_order_backbone_size_or_precision_is_another_entry() -> None:
    images, backbone = colour_images(4), small_backbone()
    keys = {
        feature_key(images, backbone.identity(), "32-true"),
        feature_key(images.take([1, 0, 2, 3]), backbone.identity(), "32-true"),
        feature_key(images.take([0, 1, 2]), backbone.identity(), "32-true"),
        feature_key(images, small_backbone(seed=1).identity(), "32-true"),
        feature_key(images, small_backbone(size=9).identity(), "32-true"),
        feature_key(images, backbone.identity(), "bf16-mixed"),
    }
    assert len(keys) == 6
    assert feature_key(Texts(["ab", "c"]), {}, "32-true") != feature_key(Texts(["a", "bc"]), {}, "32-true")


def test_a_stopped_embedding_goes_on_where_it_was(fabric: Fabric, cache: Path) -> None:
    watch, resumed = Watch(last=24), Watch()
    with pytest.raises(KeyboardInterrupt):
        embed(ReadConfig(fabric, 8, callback=watch), small_backbone(), colour_images(COUNT))
    assert watch.closed
    found = embed(ReadConfig(fabric, 8, callback=resumed), small_backbone(), colour_images(COUNT))
    assert (resumed.already, resumed.done, found.computed) == (24, COUNT, COUNT - 24)
    torch.testing.assert_close(torch.from_numpy(np.load(found.path)), expected_features())
    assert sorted(file.suffix for file in (cache / "features").iterdir()) == [".json", ".lock", ".npy"]


def test_an_embedding_killed_after_its_last_batch_gets_its_checksum(fabric: Fabric) -> None:
    path = embed(ReadConfig(fabric), small_backbone(), colour_images(COUNT)).path
    beside = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps({"rows": COUNT}))
    assert embed(ReadConfig(fabric), small_backbone(), colour_images(COUNT)).computed == 0
    assert json.loads(path.with_suffix(".json").read_text()) == beside


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_embedding_that_ends_at_any_operation_is_completed_to_the_same_bytes(
    fabric: Fabric, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def one() -> Path:
        return embed(ReadConfig(fabric, 10), small_backbone(), colour_images(20)).path

    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path / "whole"))
    expected = one().read_bytes()
    monkeypatch.setenv("HIERCOS_CACHE", str(cache))
    for number in count(1):
        ended = ends(one, cache, number)
        assert one().read_bytes() == expected
        rmtree(cache)
        if not ended:
            break
    assert number > 10


def test_two_that_want_the_same_features_make_them_once(fabric: Fabric) -> None:
    def one(_: int) -> int:
        return embed(ReadConfig(fabric, batch_size=1), small_backbone(), colour_images(COUNT)).computed

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(one, range(2))) == [0, COUNT]


class CountedImages(PixelImages):
    """Images that count how many were opened."""

    opened = 0

    def open(self, row: int) -> Image.Image:
        CountedImages.opened += 1
        return super().open(row)


def test_only_a_few_batches_are_read_ahead(fabric: Fabric) -> None:
    ahead: list[int] = []

    class Look(Watch):
        def rows(self, done: int) -> None:
            time.sleep(0.005)  # time to read on, if it would
            ahead.append(CountedImages.opened - done)

    images = CountedImages(pixels(200), ["x"] * 200)
    embed(ReadConfig(fabric, batch_size=4, callback=Look()), small_backbone(), images)
    assert CountedImages.opened == 200
    assert 0 < max(ahead) <= 4 * (AHEAD + 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_image_that_cannot_be_read_is_named(fabric: Fabric, workers: int) -> None:
    contents = [encoded(Image.fromarray(image)) for image in pixels(6)]
    images = EncodedImages([*contents[:5], contents[5][:90]], [f"photo {row}" for row in range(6)])
    with pytest.raises(ImageError, match=r"^photo 5: the image cannot be decoded"):
        embed(ReadConfig(fabric, batch_size=2, workers=workers), small_backbone(), images)


def test_a_feature_that_is_not_finite_is_named(fabric: Fabric) -> None:
    backbone = small_backbone()
    with torch.no_grad():
        next(backbone.parameters()).fill_(1e38)
    with pytest.raises(EmbeddingError, match=r"^square 0: the backbone computes a feature that is not finite"):
        embed(ReadConfig(fabric), backbone, colour_images(3))


def test_a_backbone_of_images_refuses_vectors(fabric: Fabric) -> None:
    vectors = colour_data()
    texts = type(vectors)("t", TOY, Texts(["a", "b", "c", "d"]), [0, 1, 0, 1], ["train", "train", "val", "test"])
    with pytest.raises(EmbeddingError, match="takes images, but t holds texts"):
        embed_dataset(ReadConfig(fabric), small_backbone(), texts)


def test_bfloat16_features_are_near_and_kept_apart() -> None:
    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    fabric.launch()
    found = embed(ReadConfig(fabric), small_backbone(), colour_images(COUNT))
    features = np.load(found.path)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, expected_features(), rtol=0.05, atol=0.05)
    assert not np.array_equal(features, expected_features())


def test_damaged_features_in_the_cache_are_named_and_computed_again(fabric: Fabric) -> None:
    config, images = ReadConfig(fabric, batch_size=7), colour_images(COUNT)
    path = embed(config, small_backbone(), images).path
    whole, beside = path.read_bytes(), path.with_suffix(".json").read_text()
    places = np.random.default_rng(0).integers(len(whole), size=4).tolist()
    contents = [whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :] for place in places]
    for content in [b"", whole[: HEADER // 2], whole[:-1], whole + b"more", *contents]:
        path.write_bytes(content)
        with pytest.warns(HiercosWarning, match=rf"{path}: the cached features are damaged and are computed again"):
            assert embed(config, small_backbone(), images).computed == COUNT
        assert path.read_bytes() == whole
        assert embed(config, small_backbone(), images).computed == 0
    for damaged in ["", "{}", "[1]", '{"rows": "x"}', '{"rows": 51}']:
        path.with_suffix(".json").write_text(damaged)
        assert embed(config, small_backbone(), images).computed == COUNT
        assert (path.read_bytes(), path.with_suffix(".json").read_text()) == (whole, beside)
