from pathlib import Path

import pytest

from hiercos.data import BUILT_IN, load_dataset, shown_size
from hiercos.errors import DataError
from paper_sets import write_aircraft, write_inaturalist, write_tiered

PAPER = ("cifar100", "fgvc-aircraft", "inaturalist19", "tiered-imagenet-h")


@pytest.mark.parametrize(
    ("name", "write"),
    [("fgvc-aircraft", write_aircraft), ("inaturalist19", write_inaturalist), ("tiered-imagenet-h", write_tiered)],
)
def test_a_data_set_of_files_is_found_below_the_root_and_loaded_by_name(tmp_path: Path, name: str, write) -> None:
    assert not BUILT_IN[name].is_present(tmp_path)
    write(tmp_path)
    assert BUILT_IN[name].is_present(tmp_path)
    dataset = load_dataset(name, root=tmp_path)
    assert (dataset.name, dataset.kind) == (name, "images")
    assert dataset.taxonomy.height <= BUILT_IN[name].levels


@pytest.mark.parametrize("name", PAPER)
def test_the_page_has_the_figures_of(name: str) -> None:
    page = Path(__file__).parents[3].joinpath("docs", "paper.md").read_text(encoding="utf-8")
    entry = BUILT_IN[name]
    size = shown_size(sum(archive.size for archive in entry.downloads)) if entry.downloads else "none"
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    assert row.startswith(f"| `{name}` | {entry.classes:,} | {entry.levels} | ")
    assert row.endswith(f" | {size} |")


@pytest.mark.parametrize("name", PAPER)
def test_a_data_set_that_is_absent_says_what_is_expected_where(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as error:
        load_dataset(name, root=tmp_path)
    assert str(error.value) == f"{name} is not in {tmp_path}: expected {BUILT_IN[name].where}"


def test_a_data_set_of_files_takes_nothing_behind_its_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected nothing after the name of this data set, got ':fine'"):
        load_dataset("cifar100:fine", root=tmp_path)


def test_images_of_a_built_in_data_set_that_cannot_be_decoded_fail_or_are_skipped(tmp_path: Path) -> None:
    data = write_aircraft(tmp_path)
    bad = data / "images" / "0001003.jpg"
    bad.write_bytes(bad.read_bytes()[:300])
    with pytest.raises(DataError) as error:
        load_dataset("fgvc-aircraft", root=tmp_path)
    assert str(error.value).startswith(f"{bad}: ")
    dataset = load_dataset("fgvc-aircraft", root=tmp_path, on_error="skip")
    assert (len(dataset), (dataset.split == "val").sum()) == (29, 9)
    assert dataset.labels[10:14].tolist() == [0, 1, 2, 4]
    assert dataset.notes[0].startswith(f"{data}: 1 of 30 images cannot be decoded")
    assert str(bad) in dataset.notes[1]
    whole = BUILT_IN["fgvc-aircraft"].load("", tmp_path)
    assert (whole.inputs.take([0, 14]).digests == dataset.inputs.take([0, 13]).digests).all()
