import json
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.data import load_dataset, load_test_samples
from hiercos.errors import DataError
from hiercos.taxonomy import taxonomy_to_dict
from trees import TOY

TREE = Taxonomy.from_arrays(["pet", "vehicle", "cat", "dog", "car"], [-1, -1, 0, 0, 1], [4, 2, 3])  # car, cat, dog
SPLIT = np.array(["train", "train", "val", "test"])


def features(folder: Path, taxonomy: object) -> Path:
    path = folder / "f.npz"
    np.savez(path, features=np.eye(4), labels=np.array([0, 1, 2, 0]), split=SPLIT, taxonomy=taxonomy)
    return path


def fault_of(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as error:
        load_dataset(path, **options)
    return str(error.value).replace(str(path), path.name)


def test_vectors_may_bring_their_taxonomy_whose_class_order_counts(tmp_path: Path) -> None:
    path = features(tmp_path, json.dumps(taxonomy_to_dict(TREE)))
    dataset = load_dataset(path)
    assert (dataset.taxonomy, dataset.labels.tolist(), dataset.notes) == (TREE, [0, 1, 2, 0], ())
    assert dataset.taxonomy.class_names == ("car", "cat", "dog")
    assert load_dataset(path, taxonomy=TREE).fingerprint == dataset.fingerprint


def test_another_taxonomy_than_the_one_within_is_refused(tmp_path: Path) -> None:
    path = features(tmp_path, json.dumps(taxonomy_to_dict(TREE)))
    assert fault_of(path, taxonomy=TOY) == (
        "f.npz brings another taxonomy: expected that one or none, got Taxonomy(5 nodes, 3 classes, height 2)"
    )
    with pytest.raises(DataError, match="has another taxonomy than the model"):
        load_test_samples(path, TOY)
    assert load_test_samples(path, TREE).labels.tolist() == [0]


def test_a_taxonomy_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert fault_of(features(tmp_path, "{")).startswith("f.npz: 'taxonomy': line 1, column 2: not JSON")
    assert fault_of(features(tmp_path, np.arange(3))) == (
        "f.npz: expected 'taxonomy' to be one text of JSON, got int64 of shape (3,)"
    )
