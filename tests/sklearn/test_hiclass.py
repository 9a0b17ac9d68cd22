import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.errors import DataError
from hiercos.sklearn.hiclass import classes_from_hiclass, hiclass_labels, taxonomy_from_hiclass
from trees import TOY, taxonomies

LABELS = [["pet", "dog"], ["pet", "cat"], ["plant", ""], ["pet", "dog"]]


def faults(labels: object) -> list[str]:
    with pytest.raises(DataError) as error:
        taxonomy_from_hiclass(labels)
    return list(error.value.faults)


@pytest.mark.parametrize("blank", ["", None, np.nan, " ", pd.NA, pd.NaT])
def test_the_distinct_rows_are_the_classes_in_sorted_order(blank: object) -> None:
    labels = np.array([[name or blank for name in row] for row in LABELS], dtype=object)
    taxonomy = taxonomy_from_hiclass(labels)
    assert [taxonomy.path_text(leaf) for leaf in taxonomy.leaves] == ["pet > cat", "pet > dog", "plant"]
    assert classes_from_hiclass(labels, taxonomy).tolist() == [1, 0, 2, 1]


def test_numbers_are_text() -> None:
    assert taxonomy_from_hiclass(np.array([[1, 10], [1, 20]])).names == ("1", "10", "20")


def test_every_fault_is_said_with_its_first_row() -> None:
    assert faults([["a", ""], ["a", "b"], ["a", ""]]) == ["row 1: 'a' goes on in other rows: expected a class (a leaf)"]
    assert faults([["", "b"], ["", ""], ["", "b"]]) == [
        "row 1: expected names from the left without a blank, got ['', 'b']",
        "row 2: expected names from the left without a blank, got ['', '']",
    ]
    assert faults(["a", "b"]) == ["expected labels of shape (samples, levels), got shape (2,)"]


def test_a_row_that_is_no_class_is_said() -> None:
    with pytest.raises(DataError) as error:
        classes_from_hiclass([["pet", "dog"], ["pet", "cow"], ["pet", ""], ["pet", "cow"]], TOY)
    assert error.value.faults == (
        "row 2: 'pet > cow' is no class of the taxonomy",
        "row 3: 'pet' is no class of the taxonomy",
    )


@settings(max_examples=50, deadline=None)
@given(taxonomies())
def test_classes_go_there_and_back(taxonomy: Taxonomy) -> None:
    classes = np.arange(taxonomy.num_classes)
    labels = hiclass_labels(classes, taxonomy)
    assert classes_from_hiclass(labels, taxonomy).tolist() == classes.tolist()
    again = taxonomy_from_hiclass(labels)
    assert sorted(again.path_text(leaf) for leaf in again.leaves) == sorted(
        taxonomy.path_text(leaf) for leaf in taxonomy.leaves
    )


def test_hiclass_itself_takes_the_labels() -> None:
    from hiclass import LocalClassifierPerParentNode

    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("plant",)])
    classes = np.array([0, 1, 2, 0, 1, 2])
    features = np.eye(3)[classes]
    model = LocalClassifierPerParentNode().fit(features, hiclass_labels(classes, taxonomy))
    assert classes_from_hiclass(model.predict(features), taxonomy).tolist() == classes.tolist()
