import pytest

from hiercos import Taxonomy
from hiercos.evaluation.image_predictions import NormalizedNames

TREE = Taxonomy.from_arrays(
    ["Felidae", "Machines", "Panthera leo", "Crane", "Crane"], [-1, -1, 0, 0, 1], ids=["", "", "Q140", "", ""]
)


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["Panthera leo"], 0),
        (["panthera_leo"], 0),
        (["  PANTHERA   LEO "], 0),
        (["q140"], 0),
        (["felidae>panthera_leo"], 0),
        (["crane", "machines > crane"], 2),
        (["nothing", "leo", "Felidae > crane"], 1),
        (["crane"], None),  # of two classes
        (["Felidae"], None),  # no class
        (["", " "], None),
        ([], None),
    ],
)
def test_the_first_name_with_one_meaning_counts(names: list[str], label: int | None) -> None:
    assert NormalizedNames(TREE).find(names) == label
