from pathlib import Path

import pytest

from hiercos.data import BUILT_IN, DataError, load_dataset
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
def test_a_data_set_that_is_absent_says_what_is_expected_where(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as error:
        load_dataset(name, root=tmp_path)
    assert str(error.value) == f"{name} is not in {tmp_path}: expected {BUILT_IN[name].where}"


def test_a_data_set_of_files_takes_nothing_behind_its_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected nothing behind the name of this data set, got ':fine'"):
        load_dataset("cifar100:fine", root=tmp_path)
