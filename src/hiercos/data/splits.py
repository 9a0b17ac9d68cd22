"""Splits by hash: the split of a sample depends on its content alone.

So a split needs no file and no seed, survives reordering, and does not change for the other samples when some are
added or removed. Equal samples are always in the same split.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hiercos.errors import DataError, RowName, row_name
from hiercos.taxonomy import AnyArray

SPLITS = ("train", "val", "test")
Purpose = Literal["compare", "train", "extend"]
NEEDED: Mapping[Purpose, tuple[str, ...]] = {"compare": SPLITS, "train": ("train", "val"), "extend": ("train",)}
FRACTIONS = (0.8, 0.1, 0.1)  # shares of train, val and test for data without a split
WITHOUT_TEST = (0.9, 0.1, 0.0)
CALIBRATION_SHARE = 1 / 3  # share of val that is set aside for the targets of back-off
LEAST_CALIBRATION = 20  # rows of val to set aside; with fewer, none are
VAL_SHARE = 0.1  # share of train for data with train and test only
OTHER_NAMES = {"training": "train", "validation": "val", "valid": "val", "dev": "val", "testing": "test"}

TextArray = NDArray[np.str_]
Key = str | bytes


def hash_fraction(key: Key, purpose: str = "split") -> float:
    """A number in [0, 1) that depends on the key and the purpose alone, the same on every machine.

    Example:
        >>> round(hash_fraction("Asthma"), 4)
        0.4537
    """
    content = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
    digest = hashlib.blake2b(content, digest_size=8, person=purpose.encode()).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53  # 53 bits: exact, and never rounded up to 1


def folded(text: str) -> str:
    """A text in lower case with single spaces, equal for texts that are the same sample.

    Example:
        >>> folded("Acute  Bronchitis ")
        'acute bronchitis'
    """
    return " ".join(text.lower().split())


def hash_split(keys: Iterable[Key], fractions: Sequence[float] = FRACTIONS) -> TextArray:
    """The split of each sample by the hash of its key.

    Args:
        keys: content of each sample, M keys.
        fractions: expected shares of train, val and test, which sum to 1.

    Returns:
        "train", "val" or "test" for each key, shape (M,).
    """
    if len(fractions) != len(SPLITS) or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"expected three shares that sum to 1 (train, val, test), got {tuple(fractions)}")
    ends = np.cumsum(fractions)[:2]
    shares = np.array([hash_fraction(key) for key in keys], dtype=np.float64)
    return np.array(SPLITS)[np.searchsorted(ends, shares, side="right")]


def with_val_from_train(keys: Sequence[Key], split: TextArray, share: float = VAL_SHARE) -> TextArray:
    """The split with `share` of the training samples moved to val, chosen by hash; shape (M,).

    The hash is salted, so the choice is independent of the one `hash_split` makes.
    """
    moved = split.copy()
    for row, key in enumerate(keys):
        if split[row] == "train" and hash_fraction(key, "val") < share:
            moved[row] = "val"
    return moved


def calibration_rows(keys: Sequence[Key]) -> NDArray[np.bool_]:
    """Mask of the validation samples that are set aside to calibrate back-off, chosen by hash; shape (M,).

    Nothing else may depend on them. All False if there would be fewer than 20. The hash is salted, so the choice is
    independent of the split.

    Args:
        keys: content of each validation sample, M keys.
    """
    chosen = np.array([hash_fraction(key, "calibration") < CALIBRATION_SHARE for key in keys], dtype=bool)
    return chosen if chosen.sum() >= LEAST_CALIBRATION else np.zeros_like(chosen)


def completed_split(
    keys: Sequence[Key],
    split: Sequence[str] | AnyArray | None,
    *,
    source: str,
    row_name: RowName = row_name,
    needed: Sequence[str] = SPLITS,
    fractions: Sequence[float] = FRACTIONS,
) -> tuple[TextArray, tuple[str, ...]]:
    """The split of the data, completed by hash if it is missing or has no val rows.

    Args:
        keys: content of each sample, M keys.
        split: split in the data, M values; None if they have none.
        source: name of the data in messages.
        row_name: function from a row index to its name in messages.
        needed: splits that may not be left empty.
        fractions: shares of train, val and test for data without a split.

    Returns:
        Split of each sample, shape (M,), and notes about what was chosen by hash.

    Raises:
        DataError: for each value other than train, val and test, or if a split by hash leaves a needed one empty.
    """
    if split is None:
        made = hash_split(keys, fractions)
        _check_rows_of(made, needed, source)
        shares = [f"{share:.0%} {name}" for name, share in zip(SPLITS, fractions, strict=True) if share]
        return made, (
            f"{source} has no split: {', '.join(shares[:-1])} and {shares[-1]} were chosen by hash of each sample. "
            "Only the train samples are learnt from.",
        )
    given = checked_split(split, source=source, row_name=row_name)
    if "val" in given or "train" not in given:
        return given, ()
    made = with_val_from_train(keys, given)
    _check_rows_of(made, [name for name in ("train", "val") if name in needed], source)
    return made, (f"{source} has no val rows: 10% of the training samples were set aside by hash.",)


def checked_split(split: Sequence[str] | AnyArray, *, source: str, row_name: RowName = row_name) -> TextArray:
    """The split of the data, shape (M,); a DataError names every unknown value once, at its first row."""
    values = [str(value) for value in split]
    first = {value: row for row, value in reversed(list(enumerate(values))) if value not in SPLITS}
    if first:
        raise DataError(
            f"{source}: {row_name(row)}: expected train, val or test as the split, got {value!r}{_split_hint(value)}"
            for value, row in sorted(first.items(), key=lambda item: item[1])
        )
    return np.array(values, dtype=np.str_)


def _split_hint(value: str) -> str:
    """End of a message about an unknown split, with the split that is probably meant."""
    word = folded(value)
    name = OTHER_NAMES.get(word, word)
    return f"; did you mean {name!r}?" if name in SPLITS else ""


def _check_rows_of(split: TextArray, names: Sequence[str], source: str) -> None:
    """Raise a DataError if one of these splits, chosen by hash, has no rows."""
    if empty := [name for name in names if name not in split]:
        raise DataError(
            f"{source}: the split was made by hash of too few different rows ({len(split)} in all), which left none "
            f"for {' and '.join(empty)}; add a column 'split' (in an .npz, an array) with train, val or test for each "
            "row, or put images into folders of these names"
        )
