import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiercos.data.splits import NEEDED, WITHOUT_TEST, completed_split, hash_fraction, hash_split, with_val_from_train
from hiercos.errors import DataError

KEYS = [f"phrase {number}" for number in range(20_000)]


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


def test_a_tenth_of_train_moves_to_val_whatever_split_the_hash_made_before() -> None:
    split = hash_split(KEYS, (0.8, 0.0, 0.2))
    moved = with_val_from_train(KEYS, split)
    assert np.mean(moved[split == "train"] == "val") == pytest.approx(0.1, abs=0.01)
    assert (moved[split == "test"] == "test").all()


def test_a_missing_split_is_made_and_said() -> None:
    split, notes = completed_split(KEYS, None, source="a.csv")
    assert (split == hash_split(KEYS)).all()
    assert notes == (
        "a.csv has no split: 80% train, 10% val and 10% test were chosen by hash of each sample. "
        "Only the train samples are learnt from.",
    )


def test_a_missing_val_is_set_aside_and_said() -> None:
    split, notes = completed_split(KEYS, ["train"] * 19_000 + ["test"] * 1_000, source="a.csv")
    assert set(split) == {"train", "val", "test"}
    assert notes == ("a.csv has no val rows: 10% of the training samples were set aside by hash.",)


def test_a_complete_split_is_kept_without_a_word() -> None:
    split, notes = completed_split(["a", "b", "c"], ["test", "val", "train"], source="a.csv")
    assert (split.tolist(), notes) == (["test", "val", "train"], ())


def test_each_other_word_for_a_split_is_named_once_with_its_first_row_and_what_it_means() -> None:
    with pytest.raises(DataError) as error:
        completed_split(list("abcdef"), ["train", "validation", "x", "Test", "validation", ""], source="a.csv")
    assert str(error.value) == (
        "a.csv: row 2: expected train, val or test as the split, got 'validation'; did you mean 'val'?\n"
        "a.csv: row 3: expected train, val or test as the split, got 'x'\n"
        "a.csv: row 4: expected train, val or test as the split, got 'Test'; did you mean 'test'?\n"
        "a.csv: row 6: expected train, val or test as the split, got ''"
    )


@pytest.mark.parametrize(("split", "empty"), [(None, "val and test"), (["train", "train"], "val")])
def test_too_few_rows_for_a_split_by_hash_ask_for_a_column(split: list[str] | None, empty: str) -> None:
    with pytest.raises(DataError) as error:
        completed_split(["phrase 0", "phrase 2"], split, source="a.csv")
    assert str(error.value) == (
        f"a.csv: the split was made by hash of too few different rows (2 in all), which left none for {empty}; "
        "add a column 'split' (in an .npz, an array) with train, val or test for each row, "
        "or put images into folders of these names"
    )


@pytest.mark.parametrize("split", [None, ["train", "train"]])
def test_few_rows_that_extend_a_model_need_no_val_or_test(split: list[str] | None) -> None:
    found, _ = completed_split(["phrase 0", "phrase 2"], split, source="a.csv", needed=NEEDED["extend"])
    assert found.tolist() == ["train", "train"]


def test_without_test_rows_nine_tenths_of_data_without_a_split_are_for_training() -> None:
    found, (note,) = completed_split(
        [f"phrase {n}" for n in range(2000)], None, source="a.csv", needed=NEEDED["train"], fractions=WITHOUT_TEST
    )
    assert (found == "train").mean() == pytest.approx(0.9, abs=0.02)
    assert "test" not in found
    assert note == (
        "a.csv has no split: 90% train and 10% val were chosen by hash of each sample. "
        "Only the train samples are learnt from."
    )
