"""Splits by hash: where a sample goes depends on its own content and on nothing else.

So a split needs no file and no seed, survives reordering, and when samples are added or removed the others
stay where they were. Equal samples always land in the same split.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hiercos.errors import DataError, RowName, row_name
from hiercos.taxonomy import AnyArray

SPLITS = ("train", "val", "test")
FRACTIONS = (0.8, 0.1, 0.1)  # of train, val and test, where the data bring no split
VAL_SHARE = 0.1  # of train, where the data bring train and test only
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
    """The text in lower case with single spaces: what decides whether two texts are the same sample.

    Example:
        >>> folded("Acute  Bronchitis ")
        'acute bronchitis'
    """
    return " ".join(text.lower().split())


def hash_split(keys: Iterable[Key], fractions: Sequence[float] = FRACTIONS) -> TextArray:
    """The split of each sample by the hash of its key.

    Args:
        keys: the content of each sample, M of them.
        fractions: the expected shares of train, val and test; they sum to 1.

    Returns:
        "train", "val" or "test" for each key, shape (M,).
    """
    if len(fractions) != len(SPLITS) or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"expected three shares that sum to 1 (train, val, test), got {tuple(fractions)}")
    ends = np.cumsum(fractions)[:2]
    shares = np.array([hash_fraction(key) for key in keys], dtype=np.float64)
    return np.array(SPLITS)[np.searchsorted(ends, shares, side="right")]


def with_val_from_train(keys: Sequence[Key], split: TextArray, share: float = VAL_SHARE) -> TextArray:
    """The same split with `share` of the training samples moved to val, chosen by hash; shape (M,).

    The hash is salted, so the choice is independent of the one `hash_split` makes.
    """
    moved = split.copy()
    for row, key in enumerate(keys):
        if split[row] == "train" and hash_fraction(key, "val") < share:
            moved[row] = "val"
    return moved


def completed_split(
    keys: Sequence[Key], split: Sequence[str] | AnyArray | None, *, source: str, row_name: RowName = row_name
) -> tuple[TextArray, tuple[str, ...]]:
    """The split to use, and a sentence about whatever of it was made here.

    Args:
        keys: the content of each sample, M of them.
        split: what the data say, M values, or None where they say nothing.
        source: the name of the data in messages.
        row_name: what messages call the sample at an index.

    Returns:
        The split of each sample, shape (M,), and the notes.

    Raises:
        DataError: for each value other than train, val and test, or if too few rows leave a split made here empty.
    """
    if split is None:
        made = hash_split(keys)
        _check_rows_of(made, SPLITS, source)
        return made, (f"{source} has no split: 80% train, 10% val and 10% test were chosen by hash of each sample.",)
    given = checked_split(split, source=source, row_name=row_name)
    if "val" in given or "train" not in given:
        return given, ()
    made = with_val_from_train(keys, given)
    _check_rows_of(made, ("train", "val"), source)
    return made, (f"{source} has no val rows: 10% of the training samples were set aside by hash.",)


def checked_split(split: Sequence[str] | AnyArray, *, source: str, row_name: RowName = row_name) -> TextArray:
    """The split as the data say it, shape (M,); a DataError names every other word once, at its first row."""
    values = [str(value) for value in split]
    first = {value: row for row, value in reversed(list(enumerate(values))) if value not in SPLITS}
    if first:
        raise DataError(
            f"{source}: {row_name(row)}: expected train, val or test as the split, got {value!r}{_meant(value)}"
            for value, row in sorted(first.items(), key=lambda item: item[1])
        )
    return np.array(values, dtype=np.str_)


def _meant(value: str) -> str:
    """The end of a message about another word for a split: what it probably means."""
    word = folded(value)
    name = OTHER_NAMES.get(word, word)
    return f"; did you mean {name!r}?" if name in SPLITS else ""


def _check_rows_of(split: TextArray, names: Sequence[str], source: str) -> None:
    """Raise a DataError if one of these splits, made by hash, has no rows."""
    if empty := [name for name in names if name not in split]:
        raise DataError(
            f"{source}: the split was made by hash of too few rows ({len(split)}), which left none for "
            f"{' and '.join(empty)}; add a column 'split' (in an .npz, an array) with train, val or test for each row, "
            "or put images into folders of these names"
        )
