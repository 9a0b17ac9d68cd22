import json
from pathlib import Path

import pytest

from hiercos.taxonomy import TaxonomyError, taxonomy_from_dict, taxonomy_to_dict
from taxonomy_files import faults_of, read_text
from trees import TOY

FLAT = {
    "format": "hiercos-taxonomy",
    "version": 1,
    "names": ["pet", "vehicle", "cat", "dog", "car"],
    "parents": [-1, -1, 0, 0, 1],
    "leaves": [2, 3, 4],
    "ids": [],
}


def test_the_flat_form_is_the_arrays_themselves() -> None:
    assert taxonomy_to_dict(TOY) == FLAT
    assert taxonomy_from_dict(FLAT) == TOY


def test_the_flat_form_is_recognised_by_its_content(tmp_path: Path) -> None:
    assert read_text(tmp_path, "tree.json", json.dumps(FLAT)) == TOY


def test_the_nodes_may_be_numbered_in_any_way() -> None:
    value = FLAT | {"names": ["cat", "dog", "car", "vehicle", "pet"], "parents": [4, 4, 3, -1, -1], "leaves": [0, 1, 2]}
    assert taxonomy_from_dict(value).class_names == ("cat", "dog", "car")


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"version": 2}, ["expected version 1, got 2"]),
        ({"names": "ab", "parents": None}, ["names: expected a list, got 'ab'", "parents: expected a list, got None"]),
        ({"names": ["pet", 7, "cat", "dog", "car"]}, ["names[1]: expected text, got 7"]),
        (
            {"parents": [-1, -1, 0.0, True, 2**63]},
            [
                f"parents[{place}]: expected a whole number, got {value}"
                for place, value in ((2, 0.0), (3, True), (4, 2**63))
            ],
        ),
        ({"leaves": [2, 3, 9]}, ["class 2: leaf 9 is not a node"]),
        ({"ids": ["1"]}, ["expected 5 ids, one for each name, got 1"]),
    ],
)
def test_every_fault_is_said_with_its_key(change: dict[str, object], faults: list[str]) -> None:
    with pytest.raises(TaxonomyError) as error:
        taxonomy_from_dict(FLAT | change)
    assert list(error.value.faults) == faults


def test_another_object_is_not_the_flat_form(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.json", '{"a": {}}', format="json-flat") == [
        'expected an object with "format": "hiercos-taxonomy"'
    ]
