import threading
from pathlib import Path

import numpy as np
import pytest

from hiercos.data.images import faulty
from hiercos.data.images.collections import EncodedImages, ImageFiles, PixelImages
from hiercos.data.images.faulty import usable_rows
from hiercos.errors import DataError
from pictures import picture, write


@pytest.fixture(autouse=True)
def _new_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path / "cache"))


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


def test_an_image_is_decoded_once_and_a_faulty_one_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    real = faulty.decoded
    monkeypatch.setattr(faulty, "decoded", lambda content, name: (decoded.append(name), real(content, name)))
    for _ in range(2):
        usable_rows(three(tmp_path), source="photos", on_error="skip")
    assert sorted(Path(name).name for name in decoded) == ["a.png", "b.png", "b.png"]  # by threads, in any order


def test_a_cache_that_cannot_be_used_costs_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIERCOS_CACHE", str(write(tmp_path / "file", b"")))
    assert usable_rows(EncodedImages([picture(1)], ["a"]), source="one")[0].tolist() == [0]
    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path))
    write(faulty.decodable_file(), b"torn")
    assert usable_rows(EncodedImages([picture(1)], ["a"]), source="one")[0].tolist() == [0]
    assert len(faulty.read_decodable(faulty.decodable_file())) == 1


def test_pixels_have_nothing_to_decode() -> None:
    images = PixelImages(np.zeros((3, 2, 2, 3), dtype=np.uint8), ["a", "b", "c"])
    assert usable_rows(images, source="pixels")[0].tolist() == [0, 1, 2]


def test_many_images_are_read_in_order_by_several_threads_and_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = [picture(number) for number in range(40)]
    contents = [b"" if number % 10 == 3 else sound[number] for number in range(40)]
    images = EncodedImages(contents, [f"image {number}" for number in range(40)])
    monkeypatch.setattr(faulty, "AT_ONCE", 16)
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
