"""Embedding: the right features, made once, in little memory, and nothing lost by a kill."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from PIL import Image

from colours import colour_data, colour_images, pixels, small_backbone
from hiercos.data import Texts
from hiercos.data.images.collections import EncodedImages, ImageError, ImageFiles, PixelImages
from hiercos.engine import EmbeddingError, ReadConfig, embed
from hiercos.engine.batches import AHEAD
from hiercos.engine.embedding import embed_dataset, feature_key
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
    (partial,) = cache.glob("*.partial")
    partial.write_bytes(partial.read_bytes()[:-5])  # the last row is torn: its batch is not whole
    found = embed(ReadConfig(fabric, 8, callback=resumed), small_backbone(), colour_images(COUNT))
    assert (resumed.already, resumed.done, found.computed) == (16, COUNT, COUNT - 16)
    torch.testing.assert_close(torch.from_numpy(np.load(found.path)), expected_features())
    assert sorted(file.suffix for file in cache.iterdir()) == [".npy", ".sums"]


def test_an_embedding_killed_after_its_last_batch_is_only_renamed(fabric: Fabric, cache: Path) -> None:
    found = embed(ReadConfig(fabric), small_backbone(), colour_images(COUNT))
    found.path.rename(found.path.with_suffix(".partial"))
    assert embed(ReadConfig(fabric), small_backbone(), colour_images(COUNT)).computed == 0
    assert {file.name for file in cache.iterdir()} == {found.path.name, found.path.with_suffix(".sums").name}


def test_a_killed_embedding_loses_and_repeats_at_most_the_batch_it_was_at(
    fabric: Fabric, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, batch_size = 400, 4
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
    slow = [str(Path(__file__).with_name("embed_squares.py")), str(count), str(batch_size), "0.05"]
    process = subprocess.Popen([sys.executable, *slow])
    while not any(file.stat().st_size > 3000 for file in cache.glob("*.partial")):
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    (partial,) = cache.glob("*.partial")
    kept = (partial.stat().st_size - HEADER) // (4 * 6) // batch_size * batch_size
    assert 0 < kept < count
    watch = Watch()
    killed = embed(ReadConfig(fabric, batch_size, callback=watch), small_backbone(), colour_images(count))
    assert (watch.already, killed.computed) == (kept, count - kept)
    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path / "other"))
    whole = embed(ReadConfig(fabric, batch_size), small_backbone(), colour_images(count))
    assert whole.computed == count
    assert killed.path.name == whole.path.name
    assert killed.path.read_bytes() == whole.path.read_bytes()


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


def test_damaged_features_in_the_cache_are_found_named_and_computed_again(fabric: Fabric, cache: Path) -> None:
    config, images = ReadConfig(fabric, batch_size=7), colour_images(COUNT)
    path = embed(config, small_backbone(), images).path
    whole, sums = path.read_bytes(), path.with_suffix(".sums").read_bytes()
    places = np.random.default_rng(0).integers(len(whole), size=12).tolist()
    contents = [whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :] for place in places]
    for content in [b"", whole[: HEADER // 2], whole[:-1], whole + b"more", *contents]:
        path.write_bytes(content)
        if content[: len(whole)] != whole:
            with pytest.warns(HiercosWarning, match=rf"{path}: \d+ of 50 cached features are damaged"):
                assert embed(config, small_backbone(), images).computed > 0
            assert path.read_bytes() == whole
        assert embed(config, small_backbone(), images).computed == 0
    for damaged in [b"", sums[:-1], b"\x07" * len(sums), sums[:20] + b"!" + sums[21:]]:
        path.with_suffix(".sums").write_bytes(damaged)
        with pytest.warns(HiercosWarning, match="cached features are damaged"):
            assert embed(config, small_backbone(), images).computed > 0
        assert path.read_bytes() == whole
        assert path.with_suffix(".sums").is_file()


def test_a_wrong_end_of_a_block_gives_the_same_features(fabric: Fabric, cache: Path) -> None:
    config, images = ReadConfig(fabric, batch_size=8), colour_images(COUNT)
    path = embed(config, small_backbone(), images).path
    whole, sums = path.read_bytes(), path.with_suffix(".sums").read_bytes()
    for entry in (0, 80, 160):  # the place of each end is in the first bytes of 40
        for change in (1, 2, 3, 7, 64):
            damaged = sums[:entry] + bytes([sums[entry] ^ change]) + sums[entry + 1 :]
            path.with_suffix(".sums").write_bytes(damaged)
            with pytest.warns(HiercosWarning, match="cached features are damaged"):
                embed(config, small_backbone(), images)
            assert path.read_bytes() == whole
            assert path.with_suffix(".sums").read_bytes() == sums


def test_a_damaged_batch_of_an_interrupted_embedding_is_computed_again(fabric: Fabric, cache: Path) -> None:
    images = colour_images(COUNT)
    with pytest.raises(KeyboardInterrupt):
        embed(ReadConfig(fabric, batch_size=10, callback=Watch(30)), small_backbone(), images)
    (partial,) = cache.glob("*.partial")
    content = bytearray(partial.read_bytes())
    content[HEADER + 15 * (len(content) - HEADER) // 20] ^= 1
    partial.write_bytes(content)
    path = embed(ReadConfig(fabric, batch_size=10), small_backbone(), images).path
    np.testing.assert_allclose(np.load(path), expected_features(), rtol=1e-5, atol=1e-6)
