"""One new class beside the old ones: docstrings of a module that a model has not seen."""

import numpy as np
import pytest

from docstrings import docstring_data
from hiercos import Taxonomy
from hiercos.data import Dataset, Texts, completed
from hiercos.encoders import ReadConfig, SingleDevice
from hiercos.taxonomy import taxonomy_change
from hiercos.training import Settings, extension_settings, grown_features, train

NEW = 5  # class that is held back


def part(whole: Dataset, rows: np.ndarray, tree: Taxonomy, *, purpose: str) -> Dataset:
    """Some rows without a split, labelled by names in a tree."""
    nodes = tree.leaves[[tree.class_names.index(whole.taxonomy.class_names[label]) for label in whole.labels[rows]]]
    return Dataset("part", tree, whole.inputs.take(rows), nodes, np.full(len(rows), ""), purpose=purpose)


@pytest.mark.parametrize(
    "settings", [Settings("tree-logistic", memory=20), Settings("committee", effort="quick", memory=20)]
)
def test_a_new_class_does_not_take_the_answers_of_the_old_ones(settings: Settings) -> None:
    whole = docstring_data()
    tree, is_new = whole.taxonomy, whole.labels == NEW
    assert isinstance(whole.inputs, Texts)
    paths = [tuple(tree.names[node] for node in tree.path(int(leaf))) for leaf in np.delete(tree.leaves, NEW)]
    old, is_fresh = Taxonomy.from_paths(paths), np.random.default_rng(0).random(len(whole.labels)) < 0.35
    known = completed(part(whole, np.flatnonzero(~is_fresh & ~is_new), old, purpose="train"), test=False)
    stored = train(known, settings).classifier
    added = completed(part(whole, np.flatnonzero(~is_fresh & is_new), tree, purpose="extend"))
    reading = ReadConfig(SingleDevice("cpu"))
    features = grown_features(stored, added, taxonomy_change(old, tree), stored.memory, reading)
    extended = train(features, extension_settings(stored, settings)).classifier
    fresh = np.flatnonzero(is_fresh & ~is_new)
    answers, before = (
        np.concatenate([each.classes.argmax(axis=1) for each in model.posteriors(list(whole.inputs.take(fresh)))])
        for model in (extended, stored)
    )
    right = np.array(tree.class_names)[answers] == np.array(tree.class_names)[whole.labels[fresh]]
    was_right = np.array(old.class_names)[before] == np.array(tree.class_names)[whole.labels[fresh]]
    assert (answers == NEW).mean() < 0.05
    assert right.mean() > was_right.mean() - 0.05
