"""Notes about data from which less can be learned than it seems: classes without samples, constant features."""

import numpy as np

from hiercos.data.dataset import Dataset

MOST_SHOWN = 5  # names in a note
ROWS_AT_ONCE = 65536  # rows compared with the first one at a time


def degenerate_notes(dataset: Dataset) -> tuple[str, ...]:
    """Sentences about classes without training samples and features that never vary in training: how many, which.

    Args:
        dataset: data set of any kind; features are compared for vectors only.
    """
    train, taxonomy = dataset.rows("train"), dataset.taxonomy
    counts = np.bincount(dataset.labels[train], minlength=taxonomy.num_classes)[: taxonomy.num_classes]
    notes = []
    if len(missing := np.flatnonzero(counts == 0)):
        names = [repr(taxonomy.path_text(int(taxonomy.leaves[label]))) for label in missing[:MOST_SHOWN]]
        notes.append(
            f"{dataset.source}: {len(missing):,} of {taxonomy.num_classes:,} classes have no training samples: "
            f"{_listed(names, len(missing))}."
        )
    if dataset.kind == "vectors" and len(constant := _constant_columns(np.asarray(dataset.inputs), train)):
        names = [str(column) for column in constant[:MOST_SHOWN]]
        notes.append(
            f"{dataset.source}: {len(constant):,} features never vary in training, columns "
            f"{_listed(names, len(constant))} (counted from 0)."
        )
    return tuple(notes)


def _constant_columns(features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Columns of features (M, F) that have one value in all of these rows."""
    same = np.ones(features.shape[1], dtype=bool)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        same &= (features[rows[start : start + ROWS_AT_ONCE]] == features[rows[0]]).all(axis=0)
    return np.flatnonzero(same)


def _listed(names: list[str], count: int) -> str:
    return ", ".join([*names, *["…"] * (count > MOST_SHOWN)])
