import io
import logging
import struct
import threading
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hiercos.data import Dataset
from hiercos.data.images import decoding
from hiercos.data.images.collections import EncodedImages, ImageFiles, PixelImages
from hiercos.data.images.decoding import ImageError, decoded, upright_rgb, usable_rows
from hiercos.data.load import dataset_of_usable_images
from hiercos.data.rows import SourceOptions
from hiercos.errors import DataError
from pictures import encoded, picture, write
from trees import TOY

LEFT_RED = np.zeros((2, 4, 3), dtype=np.uint8)  # 4 wide, 2 high: red on the left, blue on the right
LEFT_RED[:, :2] = (255, 0, 0)
LEFT_RED[:, 2:] = (0, 0, 255)


def pixels(content: bytes) -> np.ndarray:
    image = decoded(content, "it")
    assert image.mode == "RGB"
    return np.asarray(image)


def fault_of(content: bytes) -> str:
    with pytest.raises(ImageError) as error:
        decoded(content, "it")
    return str(error.value)


def noise(*shape: int, high: int = 256, kind: type = np.uint8) -> np.ndarray:
    return np.random.default_rng(0).integers(0, high, shape).astype(kind)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "PPM", "GIF"])
def test_lossless_formats_keep_every_pixel(format: str) -> None:
    assert np.array_equal(pixels(encoded(Image.fromarray(LEFT_RED), format)), LEFT_RED)


@pytest.mark.parametrize("format", ["JPEG", "WEBP", "JPEG2000", "AVIF"])
def test_other_formats_are_read(format: str) -> None:
    from PIL import features

    if format == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow was built without AVIF")
    flat = np.full((16, 16, 3), (200, 100, 50), dtype=np.uint8)
    assert np.abs(pixels(encoded(Image.fromarray(flat), format)).astype(int) - flat).max() <= 4


def test_a_truncated_jpeg_is_a_fault() -> None:
    whole = encoded(Image.fromarray(noise(64, 64, 3)), "JPEG")
    assert fault_of(whole[: len(whole) // 2]).startswith("it: the image cannot be decoded (image file is truncated")


@pytest.mark.parametrize("format", ["PNG", "GIF", "WEBP", "TIFF", "BMP"])
def test_a_file_that_ends_early_is_a_fault_in_every_format(format: str) -> None:
    whole = encoded(Image.fromarray(noise(64, 64, 3)), format)
    for share in (0.3, 0.6, 0.9):
        assert fault_of(whole[: int(len(whole) * share)]).startswith("it: ")


def test_a_text_or_an_empty_file_called_an_image_is_a_fault() -> None:
    for content in (b"Not an image at all.", b"", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"):
        assert fault_of(content).startswith("it: not an image; expected one of JPEG, PNG, GIF, BMP")


def test_cmyk_becomes_rgb() -> None:
    cyan = Image.new("CMYK", (8, 8), (255, 0, 0, 0))
    assert np.abs(pixels(encoded(cyan, "TIFF")) - np.array([0, 255, 255])).max() <= 1
    assert np.abs(pixels(encoded(cyan, "JPEG")).astype(int) - np.array([0, 255, 255])).max() <= 8


@pytest.mark.parametrize("format", ["PNG", "TIFF", "PPM"])
def test_sixteen_bits_are_scaled_and_not_clipped(format: str) -> None:
    deep = np.array([[0, 128, 129, 257], [32768, 65407, 65534, 65535]], dtype=np.uint16)
    grey = pixels(encoded(Image.fromarray(deep), format))
    assert grey[..., 0].tolist() == [[0, 0, 1, 1], [128, 255, 255, 255]]  # divided by 257, rounded
    assert (grey == grey[..., :1]).all()


def test_grey_of_floats_is_from_0_to_1_and_anything_else_a_fault() -> None:
    assert pixels(encoded(Image.fromarray(np.float32([[0, 0.5, 1]])), "TIFF"))[0, :, 0].tolist() == [0, 128, 255]
    assert fault_of(encoded(Image.fromarray(np.float32([[0, 200]])), "TIFF")) == (
        "it: the image cannot be decoded (expected grey from 0 to 1, got 0.0 to 200.0)"
    )
    assert "expected grey from 0 to 1, got nan" in fault_of(encoded(Image.fromarray(np.float32([[np.nan]])), "TIFF"))
    assert "expected grey from 0 to 65535, got -1 to 70000" in fault_of(
        encoded(Image.fromarray(np.int32([[-1, 70000]])), "TIFF")
    )


def test_sixteen_bits_of_colour_keep_their_high_bytes() -> None:
    """Pillow cannot write such a PNG, so it is put together here."""
    rows = b"".join(b"\x00" + row.astype(">u2").tobytes() for row in np.array([[[65535, 32896, 255]]]))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    assert pixels(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).tolist() == [[[255, 128, 0]]]


def test_one_bit_and_grey_become_rgb() -> None:
    assert pixels(encoded(Image.fromarray(np.array([[False, True]])))).tolist() == [[[0] * 3, [255] * 3]]
    assert pixels(encoded(Image.fromarray(np.uint8([[7, 9]])))).tolist() == [[[7] * 3, [9] * 3]]


def test_transparency_is_laid_over_white() -> None:
    clear = np.uint8([[[255, 0, 0, 255], [255, 0, 0, 0], [0, 0, 0, 128]]])
    assert pixels(encoded(Image.fromarray(clear))).tolist() == [[[255, 0, 0], [255, 255, 255], [127, 127, 127]]]
    grey = np.uint8([[[0, 255], [0, 0]]])
    assert pixels(encoded(Image.fromarray(grey, "LA"))).tolist() == [[[0, 0, 0], [255, 255, 255]]]


def test_a_palette_with_a_transparent_colour_is_laid_over_white() -> None:
    image = Image.new("P", (3, 1))
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    image.putdata([0, 1, 2])
    expected = [[[10, 20, 30], [255, 255, 255], [70, 80, 90]]]
    assert pixels(encoded(image, transparency=1)).tolist() == expected
    assert pixels(encoded(image, "GIF", transparency=1)).tolist() == expected
    assert pixels(encoded(image, transparency=b"\xff\x00\xff")).tolist() == expected
    assert pixels(encoded(image)).tolist() == [[[10, 20, 30], [40, 50, 60], [70, 80, 90]]]


@pytest.mark.parametrize("format", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_an_animation_the_first_frame_counts(format: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime", "blue")]
    options = {"lossless": True} if format == "WEBP" else {}
    content = encoded(frames[0], format, save_all=True, append_images=frames[1:], **options)
    assert Image.open(io.BytesIO(content)).n_frames == 3
    assert (pixels(content) == (255, 0, 0)).all()


TURNED = {  # how a camera stores the picture that is 4 wide and 2 high, by the orientation it notes
    1: LEFT_RED,
    2: LEFT_RED[:, ::-1],
    3: LEFT_RED[::-1, ::-1],
    4: LEFT_RED[::-1],
    5: LEFT_RED.swapaxes(0, 1),
    6: np.rot90(LEFT_RED, 1),
    7: np.rot90(LEFT_RED, 2).swapaxes(0, 1),
    8: np.rot90(LEFT_RED, -1),
}


@pytest.mark.parametrize("orientation", TURNED)
@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_an_image_is_turned_as_its_exif_says(orientation: int, format: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(Image.fromarray(np.ascontiguousarray(TURNED[orientation])), format, exif=exif)
    assert np.array_equal(pixels(content), LEFT_RED)


def test_a_jpeg_is_turned_as_its_exif_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    content = encoded(Image.new("RGB", (16, 32)), "JPEG", exif=exif)
    assert decoded(content, "it").size == (32, 16)


def test_an_opened_image_is_as_its_file_would_be_decoded() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    whole = encoded(Image.fromarray(noise(64, 48)), "JPEG", exif=exif)
    found = upright_rgb(Image.open(io.BytesIO(whole)), "it")
    assert found.mode == "RGB"
    assert np.array_equal(np.asarray(found), pixels(whole))
    with pytest.raises(ImageError, match="it: the image cannot be decoded"):
        upright_rgb(Image.open(io.BytesIO(whole[: len(whole) // 2])), "it")


def test_exif_that_makes_no_sense_is_passed_over() -> None:
    for exif in (b"Exif\x00\x00nonsense", b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x05\x01\x12\x00"):
        assert decoded(encoded(Image.new("RGB", (16, 32)), "JPEG", exif=exif), "it").size == (16, 32)


@pytest.mark.parametrize(
    ("width", "message"), [(50, "expected at most 1,000 pixels, got 50 x 30"), (90, "1,000 pixels")]
)
def test_more_pixels_than_pillow_allows_are_a_fault_before_they_are_decoded(
    width: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = encoded(Image.new("RGB", (width, 30)))
    monkeypatch.setattr(decoding, "PIXELS", 1000)
    assert message in fault_of(content)
    monkeypatch.setenv("HIERCOS_NO_LIMITS", "1")
    assert decoded(content, "it").size == (width, 30)


def test_decoding_in_many_threads_leaves_the_filters_of_warnings_as_they_were() -> None:
    content = encoded(Image.new("RGB", (64, 64)), "JPEG", exif=b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x05\x01")
    with warnings.catch_warnings():
        before = list(warnings.filters)
        threads = [threading.Thread(target=lambda: [decoded(content, "it") for _ in range(20)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(warnings.filters) == before


def test_nothing_but_the_error_is_printed_of_a_damaged_image(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program that has set up no logging
    content = bytearray(encoded(Image.fromarray(LEFT_RED), "TIFF"))
    place = content.index(struct.pack("<HHI", 277, 3, 1)) + 8  # samples per pixel
    content[place : place + 2] = struct.pack("<H", 99)
    assert fault_of(bytes(content)).startswith("it: not an image")
    assert capfd.readouterr().err == ""


def three(folder: Path) -> ImageFiles:
    """A sound image, a text that is called one, and a file that is not there."""
    write(folder / "a.png", picture(1))
    write(folder / "b.png", b"a text")
    return ImageFiles([folder / name for name in ("a.png", "b.png", "c.png")])


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        usable_rows(three(tmp_path), source="photos")
    assert [fault.replace(str(tmp_path), "")[:40] for fault in error.value.faults] == [
        "/b.png: not an image; expected one of JP",
        "/c.png: the file cannot be read (No such",
    ]


def test_faulty_images_are_left_out_by_name_where_that_is_asked_for(tmp_path: Path) -> None:
    rows, notes = usable_rows(three(tmp_path), source="photos", on_error="skip")
    assert rows.tolist() == [0]
    assert notes[0] == "photos: 2 of 3 images cannot be decoded; left out:"
    assert [f"{name}.png" in note for name, note in zip("bc", notes[1:], strict=True)] == [True, True]


def test_a_data_set_without_its_faulty_images_keeps_its_sets_of_labels(tmp_path: Path) -> None:
    names = [write(tmp_path / f"{name}.png", picture(number)) for number, name in enumerate("abc")]
    images = ImageFiles([*names, tmp_path / "missing.png"]).take([3, 0, 1, 2])
    sets, split = np.array([[4, -1], [2, 3], [2, 4], [3, 4]]), np.array(["train", "train", "val", "test"])
    whole = Dataset("photos", TOY, images, np.array([4, -1, -1, -1]), split, label_sets=sets)
    part = dataset_of_usable_images(whole, SourceOptions(on_error="skip"))
    assert part.label_sets is not None
    assert part.label_sets.tolist() == [[2, 3], [2, 4], [3, 4]]
    assert part.notes[0] == "photos: 1 of 4 images cannot be decoded; left out:"


def test_rows_of_a_table_are_told_with_the_fault(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^a.csv: row 3: .*b\.png: not an image"):
        usable_rows(three(tmp_path), source="a.csv", row_name=lambda row: f"row {row + 2}")


def test_skipping_every_image_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.png: not an image"):
        usable_rows(three(tmp_path).take([1]), source="photos", on_error="skip")


def test_digests_are_kept_from_the_one_time_a_file_is_read(tmp_path: Path) -> None:
    images = three(tmp_path)
    usable_rows(images, source="photos", on_error="skip")
    (tmp_path / "a.png").unlink()
    assert images.take([0]).digests.shape == (1, 32)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "WEBP", "GIF"])
def test_the_check_finds_every_file_that_ends_early(format: str, tmp_path: Path) -> None:
    whole = encoded(Image.fromarray(noise(64, 64, 3)), format)
    cut = [write(tmp_path / f"{share}", whole[: int(len(whole) * share / 10)]) for share in range(1, 10)]
    with pytest.raises(DataError) as error:
        usable_rows(ImageFiles([*cut, write(tmp_path / "whole", whole)]), source="photos")
    assert [Path(fault.partition(":")[0]) for fault in error.value.faults] == cut


def test_pixels_have_nothing_to_decode() -> None:
    images = PixelImages(np.zeros((3, 2, 2, 3), dtype=np.uint8), ["a", "b", "c"])
    assert usable_rows(images, source="pixels")[0].tolist() == [0, 1, 2]


def test_many_images_are_read_in_order_by_several_threads_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = [picture(number) for number in range(40)]
    contents = [b"" if number % 10 == 3 else sound[number] for number in range(40)]
    images = EncodedImages(contents, [f"image {number}" for number in range(40)])
    monkeypatch.setattr(decoding, "AT_ONCE", 16)
    seen: list[tuple[int, int]] = []
    before = threading.active_count()
    rows, _ = usable_rows(
        images, source="many", on_error="skip", callback=lambda *counts: seen.append(counts), workers=4
    )
    assert rows.tolist() == [number for number in range(40) if number % 10 != 3]
    assert seen == [(16, 40), (32, 40), (40, 40)]
    assert threading.active_count() == before


def test_another_way_to_treat_faults_is_refused() -> None:
    with pytest.raises(DataError, match="expected on_error to be one of fail, skip, got 'ignore'"):
        usable_rows(EncodedImages([], []), source="none", on_error="ignore")
