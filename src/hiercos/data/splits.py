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
from hiercos.taxonomy import AnyArray, Floats, IntArray

SPLITS = ("train", "val", "test")
Purpose = Literal["compare", "train", "extend", "test"]
NEEDED: Mapping[Purpose, tuple[str, ...]] = {
    "compare": ("train", "test"),
    "train": ("train",),
    "extend": ("train",),
    "test": ("test",),
}
FRACTIONS = (0.8, 0.1, 0.1)  # shares of train, val and test of the built-in data sets
TEST_SHARE = 0.1  # of data without a split
VAL_SHARE = 0.1  # of the rows that are not test, for data without validation rows
LEAST_VAL = 32  # rows to validate on; with fewer, top-1 and temperature are unreliable
CALIBRATION = "calibration"  # a fourth split: rows that are set aside for the targets of back-off
CALIBRATION_SHARE = 0.1  # of the rows that are not test
LEAST_CALIBRATION = 20  # rows to set aside
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


def completed_split(
    keys: Sequence[Key],
    nodes: IntArray,
    split: TextArray,
    *,
    is_class: NDArray[np.bool_],
    test: bool = True,
    targets: bool = False,
    grouped: bool = False,
    times: Floats | None = None,
) -> TextArray:
    """The split of the data with what it leaves open chosen by hash, or by time; see `hiercos.data.completed`.

    A label keeps its rows for training if all would validate. Every choice has a hash of its own, so that it does not
    depend on the others.

    Args:
        keys: content or group of each sample, M keys; equal ones are never divided.
        nodes: node of each sample's label, shape (M,).
        split: split in the data, shape (M,); "" for all samples if they have none.
        is_class: mask of the samples whose node is a class, shape (M,).
        test: whether to choose test samples for data without a split.
        targets: whether to set samples aside to calibrate the targets of back-off, on which nothing else may depend.
        grouped: whether the keys are groups, of which a sample may keep the others for training.
        times: time of each sample, shape (M,), of which the latest test and validate; None to choose by hash.
    """
    made = split.astype("<U11")  # room for every name
    if (split == "").any():
        made[:] = "train"
        if test:
            by_hash = np.array([hash_fraction(key) for key in keys]) >= 1 - TEST_SHARE
            made[by_hash if times is None else _latest(keys, times, made == "train", TEST_SHARE)] = "test"
    if "val" not in made:
        available = made == "train"
        by_hash = _drawn(keys, "val", VAL_SHARE) & available
        chosen = by_hash if times is None else _latest(keys, times, available, VAL_SHARE)
        kept = chosen & ~np.isin(nodes, nodes[available & ~chosen])
        if grouped:
            whole = {keys[row] for row in np.flatnonzero(kept).tolist()}
            kept = np.array([key in whole for key in keys], dtype=bool)
        chosen &= ~kept
        if np.count_nonzero(is_class[chosen]) >= LEAST_VAL:
            made[chosen] = "val"
    if targets and CALIBRATION not in made:
        made[_drawn(keys, "calibration", CALIBRATION_SHARE) & (made != "test")] = CALIBRATION
    return made


def _latest(keys: Sequence[Key], times: Floats, among: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    """Mask of about a share of the samples of a mask, the latest ones, shape (M,); those of a key by their last one."""
    last: dict[Key, float] = {}
    for key, time in zip(keys, times.tolist(), strict=True):
        last[key] = max(time, last.get(key, time))
    of_key = np.array([last[key] for key in keys])
    found: NDArray[np.bool_] = among & (of_key > np.quantile(of_key[among], 1 - share, method="lower"))
    return found


def _drawn(keys: Sequence[Key], purpose: str, share: float) -> NDArray[np.bool_]:
    """Mask of a share of the samples, by hash, shape (M,)."""
    return np.array([hash_fraction(key, purpose) < share for key in keys], dtype=bool)


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
