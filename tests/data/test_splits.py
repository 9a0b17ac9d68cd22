import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiercos.data import Dataset, Texts, completed
from hiercos.data.splits import checked_split, completed_split, hash_fraction, hash_split
from hiercos.errors import DataError
from trees import TOY

KEYS = [f"phrase {number}" for number in range(20_000)]
LABELS = np.arange(20_000) % 3
NONE = np.full(20_000, "")


@given(st.lists(st.text(), max_size=30), st.randoms())
def test_the_split_of_a_sample_depends_on_no_other_sample_and_no_order(keys: list[str], random) -> None:
    shuffled = random.sample(keys, len(keys))
    alone = {key: str(hash_split([key])[0]) for key in keys}
    assert hash_split(shuffled).tolist() == [alone[key] for key in shuffled]


def test_the_hash_is_the_same_on_every_machine() -> None:
    assert hash_fraction("Asthma") == pytest.approx(0.45372401375297267, abs=1e-12)
    assert hash_fraction(b"Asthma") == hash_fraction("Asthma")


def test_the_shares_are_close_to_the_fractions_asked_for() -> None:
    split = hash_split(KEYS, (0.5, 0.3, 0.2))
    shares = [np.mean(split == name) for name in ("train", "val", "test")]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.015)


def test_a_share_of_zero_leaves_a_split_empty() -> None:
    assert set(hash_split(KEYS, (0.9, 0.0, 0.1))) == {"train", "test"}


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.8, 0.1, 0.2), (1.1, -0.1, 0.0)])
def test_fractions_must_be_three_shares_of_one(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="three shares that sum to 1"):
        hash_split(["a"], fractions)


def test_of_data_without_a_split_a_tenth_tests_and_a_tenth_of_the_others_validates() -> None:
    split = completed_split(KEYS, LABELS, NONE, is_class=LABELS < 3)
    assert [np.mean(split == name) for name in ("train", "val", "test")] == pytest.approx([0.81, 0.09, 0.1], abs=0.01)
    assert np.array_equal(split == "test", [hash_fraction(key) >= 0.9 for key in KEYS])
    assert set(completed_split(KEYS, LABELS, NONE, is_class=LABELS < 3, test=False)) == {"train", "val"}


def test_a_given_split_keeps_its_test_rows_and_its_val_rows() -> None:
    given = hash_split(KEYS, (0.8, 0.0, 0.2))
    split = completed_split(KEYS, LABELS, given, is_class=LABELS < 3)
    assert np.array_equal(split == "test", given == "test")
    assert np.mean(split[given == "train"] == "val") == pytest.approx(0.1, abs=0.01)
    assert np.array_equal(completed_split(KEYS, LABELS, split, is_class=LABELS < 3), split)


def test_samples_set_aside_for_targets_are_neither_learned_from_nor_tested_on() -> None:
    plain, split = (
        completed_split(KEYS, LABELS, NONE, is_class=LABELS < 3, targets=targets) for targets in (False, True)
    )
    aside = split == "calibration"
    assert np.array_equal(split[~aside], plain[~aside])
    assert np.mean(aside[plain != "test"]) == pytest.approx(0.1, abs=0.01)
    assert "test" not in plain[aside]


def test_few_samples_of_a_class_and_the_only_one_of_a_label_are_not_validated_on() -> None:
    assert "val" not in completed_split(KEYS[:100], LABELS[:100], NONE[:100], is_class=LABELS[:100] < 3)
    assert "val" not in completed_split(KEYS, LABELS, NONE, is_class=LABELS < 0)  # labels at inner nodes
    lonely = np.arange(20_000) % 3
    lonely[np.flatnonzero(completed_split(KEYS, lonely, NONE, is_class=lonely < 4) == "val")[0]] = 3
    assert (completed_split(KEYS, lonely, NONE, is_class=lonely < 4)[lonely == 3] == "train").all()


def test_what_was_chosen_is_said() -> None:
    def data(split: np.ndarray) -> Dataset:
        return Dataset("a.csv", TOY, Texts(KEYS[:2000]), TOY.leaves[LABELS[:2000]], split, purpose="train")

    validates = "of the other samples validate, chosen by hash; the final model learns from them, too."
    assert completed(data(NONE[:2000])).notes == (
        "a.csv has no split: 10% test samples were chosen by hash of each sample.",
        f"a.csv: 10% {validates}",
    )
    own = hash_split(KEYS[:2000])
    assert completed(data(own)).notes == ()
    (note,) = completed(data(np.where(own == "val", "train", own))).notes
    assert note == f"a.csv: 10% {validates}".replace("other ", "")
    aside = completed(data(own), targets=True)
    count = np.count_nonzero(aside.split == "calibration")
    assert aside.notes == (f"a.csv: {count} samples calibrate targets and are not learned from.",)


def test_too_few_samples_to_set_aside_or_to_test_on_are_an_error() -> None:
    few = Dataset("a.csv", TOY, Texts(["phrase 0", "phrase 2"]), TOY.leaves[:2], np.array(["", ""]), purpose="train")
    with pytest.raises(DataError) as error:
        completed(few)
    assert str(error.value) == (
        "a.csv: the split was made by hash of too few different rows (2 in all), which left none for test; "
        "add a column 'split' (in an .npz, an array) with train, val or test for each row, "
        "or put images into folders of these names"
    )
    assert completed(few, test=False).split.tolist() == ["train", "train"]
    with pytest.raises(
        DataError, match=r"a\.csv: targets: expected at least 20 samples labelled with a class to set aside"
    ):
        completed(few, test=False, targets=True)


def test_each_other_word_for_a_split_is_named_once_with_its_first_row_and_what_it_means() -> None:
    with pytest.raises(DataError) as error:
        checked_split(["train", "validation", "x", "Test", "validation", ""], source="a.csv")
    assert str(error.value) == (
        "a.csv: row 2: expected train, val or test as the split, got 'validation'; did you mean 'val'?\n"
        "a.csv: row 3: expected train, val or test as the split, got 'x'\n"
        "a.csv: row 4: expected train, val or test as the split, got 'Test'; did you mean 'test'?\n"
        "a.csv: row 6: expected train, val or test as the split, got ''"
    )


def test_groups_are_never_divided_and_time_tests_on_what_is_later() -> None:
    draw = np.random.default_rng(0)
    groups = [f"g{number}" for number in draw.integers(300, size=900)]
    times = np.array([int(group[1:]) // 3 for group in groups]) + draw.random(900)
    nodes, none, is_class = draw.integers(200, size=900), np.full(900, ""), np.ones(900, dtype=bool)
    of_groups = completed_split(groups, nodes, none, is_class=is_class, grouped=True)
    later = completed_split(groups, nodes, none, is_class=is_class, grouped=True, times=times)
    for split in (of_groups, later):
        assert {*split} == {"train", "val", "test"}
        assert all(len({*split[np.array(groups) == group]}) == 1 for group in {*groups})
    assert np.mean(later == "test") == pytest.approx(0.1, abs=0.03)
    last = {group: times[np.array(groups) == group].max() for group in groups}
    by_group = np.array([last[group] for group in groups])
    assert by_group[later == "train"].max() < by_group[later == "test"].min()
