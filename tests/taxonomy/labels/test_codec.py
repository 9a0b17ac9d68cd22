from typing import Any

import numpy as np
import pandas as pd
import pytest

from hiercos import Taxonomy
from hiercos.errors import DataError, HiercosWarning
from hiercos.taxonomy import label_array, label_codec, path_texts, taxonomy_of_labels
from sklearn_clouds import LEVELS, NAMES, PATHS, UNEVEN
from trees import TOY

WITH_IDS = Taxonomy.from_arrays(["pet", "cat", "dog"], [-1, 0, 0], [2, 1], ids=["9", "91", "92"])
TWINS = Taxonomy.from_paths([("left", "eye"), ("right", "eye"), ("nose",)])
ROWS = np.array([3, 0, 1, 2, 1])  # classes of five samples


def faults(y: Any, taxonomy: Taxonomy | None) -> list[str]:
    with pytest.raises(DataError) as error:
        label_codec(label_array(y), taxonomy)
    return list(error.value.faults)


@pytest.mark.parametrize(
    "y",
    [
        NAMES[ROWS],
        NAMES[ROWS].astype(object),
        NAMES[ROWS].tolist(),
        PATHS[ROWS],
        [path.replace(" > ", ">") for path in PATHS[ROWS]],
        ROWS,
        ROWS.astype(np.int8),
        ROWS.astype(float),
        ROWS.astype(object),
        pd.Series(NAMES[ROWS]),
        pd.Series(NAMES[ROWS], dtype="string"),
        pd.Series(pd.Categorical(NAMES[ROWS])),
        pd.Categorical(PATHS[ROWS]),
        pd.Series(ROWS, dtype="Int64"),
        LEVELS[ROWS],
        LEVELS[ROWS].astype(str),
        LEVELS[ROWS].tolist(),
        [tuple(name for name in row if name) for row in LEVELS[ROWS].tolist()],
        [[name or None for name in row] for row in LEVELS[ROWS].tolist()],
        pd.DataFrame(LEVELS[ROWS]),
        pd.DataFrame(LEVELS[ROWS]).replace("", np.nan),
    ],
    ids=lambda y: type(y).__name__,
)
def test_labels_of_every_form_are_read_and_answered_as_they_came(y: Any) -> None:
    array = label_array(y)
    codec = label_codec(array, UNEVEN)
    assert codec.read(array).tolist() == UNEVEN.leaves[ROWS].tolist()
    answers = codec.labels[ROWS]
    assert answers.dtype == array.dtype
    assert answers.shape == array.shape
    assert pd.DataFrame(answers).equals(pd.DataFrame(array))  # nan equals nan


@pytest.mark.parametrize("labels", [NAMES, PATHS, np.arange(4), LEVELS], ids=["names", "paths", "indices", "levels"])
def test_the_classes_are_sorted_and_their_columns_lead_back(labels: Any) -> None:
    codec = label_codec(labels, UNEVEN)
    assert codec.classes.tolist() == sorted(codec.classes.tolist())
    forms = PATHS if labels.ndim == 2 else labels
    assert codec.classes.tolist() == forms[codec.columns].tolist()


def test_a_class_that_was_never_seen_is_written_as_the_others_are() -> None:
    assert label_codec(np.array(["dog", "cat"]), UNEVEN).labels.tolist() == NAMES.tolist()
    assert label_codec(np.array(["pet > dog", "pet > cat"]), UNEVEN).labels.tolist() == PATHS.tolist()
    assert label_codec(LEVELS[:2], UNEVEN).labels.tolist() == LEVELS.tolist()
    assert label_codec(np.array(["92"]), WITH_IDS).labels.tolist() == ["92", "91"]
    assert label_codec(np.array(["dog"]), WITH_IDS).labels.tolist() == ["dog", "cat"]


def test_whole_numbers_are_ids_or_names_where_these_are_numbers() -> None:
    codec = label_codec(np.array([92, 91]), WITH_IDS)
    assert WITH_IDS.classes_of(codec.read(np.array([91, 92]))).tolist() == [1, 0]
    numbered = Taxonomy.from_paths([("1", "20"), ("1", "10"), ("30",)])
    codec = label_codec(np.array([10.0, 20.0]), numbered)
    assert codec.classes.tolist() == [10.0, 20.0, 30.0]
    assert numbered.classes_of(codec.read(np.array([20.0, 30.0]))).tolist() == [0, 2]


def test_numbers_of_a_small_type_are_widened_where_it_cannot_hold_all_classes() -> None:
    many = Taxonomy.from_paths([(f"group {number % 7}", f"class {number}") for number in range(3000)])
    for kind in (np.int8, np.uint8, np.float16):
        codec = label_codec(np.arange(100, dtype=kind), many)
        assert codec.classes.tolist() == list(range(3000))
        assert codec.read(np.arange(100, dtype=kind)).tolist() == many.leaves[:100].tolist()


def test_names_of_more_than_64_bits_are_no_numbers() -> None:
    long = Taxonomy.from_paths([("long", "1" * 25), ("long", "2" * 25)])
    assert label_codec(np.array([1, 0]), long).classes.tolist() == [0, 1]


def test_classes_of_one_name_are_told_apart_by_their_paths() -> None:
    codec = label_codec(np.array(["nose", "left > eye"]), TWINS)
    assert codec.labels.tolist() == ["left > eye", "right > eye", "nose"]
    assert faults(["nose", "eye"], TWINS) == [
        "y: row 2: 'eye' is the name of 2 classes: expected the path or id of one of 'left > eye'; 'right > eye'"
    ]


def test_without_a_taxonomy_paths_and_levels_are_the_tree_and_other_labels_one_level() -> None:
    assert label_codec(PATHS[ROWS], None).taxonomy.height == 3
    assert label_codec(LEVELS[ROWS], None).taxonomy == label_codec(PATHS[ROWS], None).taxonomy
    flat = label_codec(np.array([7, -1, 7]), None)
    assert (flat.taxonomy.height, flat.taxonomy.class_names, flat.classes.tolist()) == (1, ("-1", "7"), [-1, 7])
    assert label_codec(np.array(["", "a"]), None).taxonomy.class_names == ("class 0: ", "class 1: a")


@pytest.mark.parametrize(
    ("y", "fault"),
    [
        (["cat", "dgo"], "y: row 2: unknown label 'dgo'; the nearest known label is 'dog'"),
        (["cat", ""], "y: row 2: the label is empty"),
        ([0, 12], "y: row 2: unknown label 12; expected one of the 12 labels from 0 to 11"),
        ([0.0, -1.0], "y: row 2: unknown label -1.0; expected one of the 12 labels from 0.0 to 11.0"),
        ([1.0, np.inf], "y: row 2: unknown label inf; expected one of the 12 labels from 0.0 to 11.0"),
        (pd.Series(["cat", None], dtype=object), "y: row 2: expected a text, as other labels are, got None"),
        (np.array(["cat", 1], dtype=object), "y: row 2: expected a text, as other labels are, got 1"),
        (7, "y: expected labels of shape (samples,) or (samples, levels), got shape ()"),
        ([("pet", "cat"), ("cow",)], "y: row 2: unknown label 'cow'"),
        ([{"cat", "dog"}, {"dgo"}], "y: row 2: unknown label 'dgo'; the nearest known label is 'dog'"),
        ([{("pet", "cat"), ("pet", "dog")}, {("cow",)}], "y: row 2: unknown label 'cow'"),
        ([("pet", "cat"), (None, "cat")], "y: row 2: expected names from the left without a blank, got ['', 'cat']"),
    ],
)
def test_a_label_that_cannot_be_read_is_named_with_its_row(y: Any, fault: str) -> None:
    def read() -> None:
        array = label_array(y)
        label_codec(array, UNEVEN).read(array)

    with pytest.raises(DataError) as error:
        read()
    assert len(error.value.faults) == 1
    assert error.value.faults[0].startswith(fault)


@pytest.mark.parametrize(
    "y",
    [
        np.array(["pet", "root", "car", "pet > cat"], dtype=object),
        np.array([3, 8, 2, 0]),
        np.array([["pet", ""], ["", None], ["vehicle", "car"], ["pet", "cat"]], dtype=object),
    ],
)
def test_labels_of_any_depth_are_nodes_in_every_form(y: Any) -> None:
    codec = label_codec(y, TOY)
    assert codec.read(y).tolist() == [0, -1, 4, 2]  # pet, the root, car and cat
    assert codec.may_be_classes(y).tolist() == [False, False, True, True]
    assert len(codec.classes) == len(codec.labels) == 3


def test_labels_of_any_depth_make_the_tree_of_the_deepest() -> None:
    paths = np.array(["pet", "pet > dog", "pet > cat", "sun"], dtype=object)
    levels = np.array([["pet", ""], ["pet", "dog"], ["pet", "cat"], ["sun", ""]], dtype=object)
    for y in (paths, levels):
        codec = label_codec(y, None)
        assert codec.taxonomy.class_names == ("cat", "dog", "sun")
        assert [codec.taxonomy.path_text(node) for node in codec.read(y)] == ["pet", "pet > dog", "pet > cat", "sun"]


def test_a_label_that_is_not_known_later_is_named_too() -> None:
    with pytest.raises(
        DataError, match=r"^y: row 2: unknown label 'cow'; expected one of the 2 labels from cat to dog$"
    ):
        label_codec(np.array(["cat", "dog"]), None).read(np.array(["dog", "cow"]))
    with pytest.raises(
        DataError, match=r"^y: expected labels of shape \(samples,\) as in the first fit, got \(4, 3\)$"
    ):
        label_codec(NAMES, UNEVEN).read(LEVELS)
    with pytest.raises(DataError, match=r"^y: expected labels of shape \(samples, levels\) as in the first fit"):
        label_codec(LEVELS, None).read(PATHS)


def test_labels_that_cannot_be_read_may_be_classes() -> None:
    codec = label_codec(NAMES, UNEVEN)
    assert codec.may_be_classes(np.array(["pet", "cow", "dog", "pet"])).tolist() == [False, True, True, False]
    assert codec.may_be_classes(LEVELS[:2]).all()


def test_levels_as_texts_are_paths() -> None:
    assert path_texts(LEVELS).tolist() == PATHS.tolist()


@pytest.mark.parametrize("sign", [">", " >", "  >  "])
def test_paths_need_no_blanks_around_the_sign(sign: str) -> None:
    codec = label_codec(np.array([f"pet{sign}cat", f"pet{sign}dog", f"vehicle{sign}car"]), None)
    assert codec.taxonomy == TOY
    assert not codec.flat


@pytest.mark.parametrize("sign", ["/", " / ", "|", "::", ";", "\\"])
def test_labels_that_look_like_paths_of_another_program_are_warned_about(sign: str) -> None:
    labels = np.array([f"pet{sign}cat", f"pet{sign}dog", f"vehicle{sign}car"])
    with pytest.warns(HiercosWarning, match=r"so the tree is flat; write 'pet > cat' for a path, or pass a taxonomy"):
        codec = label_codec(labels, None)
    assert codec.flat


@pytest.mark.parametrize(
    "labels", [[">50K", "<=50K"], ["and/or", "either/or"], ["cat", "dog/wolf"], [1, 2], ["a/", "b/"]]
)
def test_other_labels_are_flat_without_a_warning(labels: list[object]) -> None:
    assert label_codec(np.array(labels), None).flat


def test_sets_of_labels_may_be_in_an_array() -> None:
    given = np.empty(2, dtype=object)
    given[:] = [{"dog", "cat"}, {"car"}]
    assert label_array(given).tolist() == label_array(list(given)).tolist() == [("cat", "dog"), ("car",)]


def test_paths_with_a_bar_between_them_are_several_labels() -> None:
    labels = ["pet > cat | vehicle > car", "pet > dog", "vehicle > car"]
    assert label_array(labels).tolist() == [("pet > cat", "vehicle > car"), ("pet > dog",), ("vehicle > car",)]
    tree = taxonomy_of_labels(labels, source="t.csv", row_name=str)
    assert tree.class_names == ("cat", "dog", "car")
    assert label_array(["fruit | vegetables", "meat"]).tolist() == ["fruit | vegetables", "meat"]
