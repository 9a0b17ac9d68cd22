import sys
import time

import numpy as np
import pytest

from hiercos.data.built_in.icd10cm import Category, icd10cm, read_categories, tabular_file
from hiercos.data.dataset import Dataset
from hiercos.data.splits import folded
from hiercos.errors import DataError


@pytest.fixture(scope="module")
def categories() -> list[Category]:
    return list(read_categories(tabular_file()))


@pytest.fixture(scope="module")
def whole() -> Dataset:
    return icd10cm()


def test_the_tabular_list_has_22_chapters_285_sections_and_1918_categories(categories: list[Category]) -> None:
    counts = [len({category.ids[level] for category in categories}) for level in range(3)]
    assert counts == [22, 285, 1918]
    assert sum(len(category.phrases) for category in categories) == 60_368


def test_names_come_without_their_range_of_codes(categories: list[Category]) -> None:
    cholera = categories[0]
    assert cholera.ids == ("1", "A00-A09", "A00")
    assert cholera.names == (
        "Certain infectious and parasitic diseases",
        "Intestinal infectious diseases",
        "Cholera",
    )
    assert cholera.phrases[:4] == (
        "Cholera",
        "Cholera due to Vibrio cholerae 01, biovar cholerae",
        "Classical cholera",
        "Cholera due to Vibrio cholerae 01, biovar eltor",
    )
    assert not any(name.endswith(")") and "-" in name[-9:] for category in categories for name in category.names)


def test_categories_with_ten_phrases_make_1271_classes(whole: Dataset) -> None:
    assert (whole.taxonomy.num_classes, whole.taxonomy.num_nodes, whole.taxonomy.height) == (1271, 1558, 3)
    assert len(whole) == 56_591
    assert [len(whole.rows(split)) for split in ("train", "val", "test")] == [45_180, 5_661, 5_750]
    assert whole.notes == ("icd10cm: 647 of 1,918 categories list fewer than 10 phrases and are left out.",)


def test_every_node_has_its_own_code(whole: Dataset) -> None:
    assert len(set(whole.taxonomy.ids)) == whole.taxonomy.num_nodes
    assert {len(whole.taxonomy.ids[leaf]) for leaf in whole.taxonomy.leaves} == {3}


def test_no_category_has_a_phrase_twice(whole: Dataset) -> None:
    samples = {(label, folded(text)) for label, text in zip(whole.labels, whole.inputs, strict=True)}
    assert len(samples) == len(whole)


def test_a_phrase_of_two_categories_is_in_one_split(whole: Dataset) -> None:
    splits: dict[str, set[str]] = {}
    for text, split in zip(whole.inputs, whole.split, strict=True):
        splits.setdefault(folded(str(text)), set()).add(str(split))
    assert len(splits) < len(whole)
    assert all(len(found) == 1 for found in splits.values())


def test_a_subset_of_chapters_keeps_its_samples_and_their_split(whole: Dataset) -> None:
    subset = icd10cm(("13", "9", "10", "11"))
    assert (subset.name, subset.taxonomy.num_classes, len(subset)) == ("icd10cm:9,10,11,13", 221, 12_526)
    assert [len(subset.rows(split)) for split in ("train", "val", "test")] == [9_979, 1_276, 1_271]
    split_of = dict(zip(whole.inputs, whole.split, strict=True))
    assert all(split_of[text] == split for text, split in zip(subset.inputs, subset.split, strict=True))


def test_fewer_phrases_are_enough_where_the_user_says_so() -> None:
    everything = icd10cm(("22",), min_samples=1)
    assert np.bincount(everything.labels).tolist() == [8, 3]
    assert everything.notes == ()


def test_a_chapter_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError) as error:
        icd10cm(("9", "23"))
    assert str(error.value) == (
        "icd10cm: there is no chapter '23'; expected numbers from 1 to 22 with commas between them"
    )


def test_chapters_without_large_categories_are_named() -> None:
    with pytest.raises(DataError) as error:
        icd10cm(("22",))
    assert str(error.value) == "icd10cm: no category of chapter 22 lists 10 phrases or more"


def test_reading_is_quick_and_does_not_import_the_package() -> None:
    read_categories.cache_clear()
    start = time.process_time()
    icd10cm(("9",))
    assert time.process_time() - start < 3  # about 0.5 on a machine with nothing else to do
    assert "simple_icd_10_cm" not in sys.modules
