import json
from pathlib import Path

import pytest

from hiercos import Taxonomy
from taxonomy_files import faults_of, read_text
from trees import TOY


@pytest.mark.parametrize(
    "value",
    [
        {"pet": {"cat": {}, "dog": None}, "vehicle": {"car": []}},
        {"pet": ["cat", "dog"], "vehicle": ["car"]},
        {"root": {"pet": ["cat", {"dog": None}], "vehicle": {"name": "car"}}},
        [{"name": "pet", "children": [{"name": "cat"}, "dog"]}, {"vehicle": ["car"]}],
        {"name": "root", "children": [{"name": "pet", "children": ["cat", "dog"]}, {"vehicle": ["car"]}]},
    ],
)
def test_objects_lists_and_named_nodes_are_the_same_tree(tmp_path: Path, value: object) -> None:
    assert read_text(tmp_path, "tree.json", json.dumps(value)) == TOY


def test_class_numbers_order_the_classes(tmp_path: Path) -> None:
    value = [
        {"name": "a", "children": [{"name": "x", "class": 2}, {"name": "y", "class": 0}]},
        {"name": "b", "class": 1},
    ]
    assert read_text(tmp_path, "tree.json", json.dumps(value)).class_names == ("y", "b", "x")


def test_ids_are_kept_and_a_lone_top_in_a_list_is_a_node(tmp_path: Path) -> None:
    taxonomy = read_text(
        tmp_path, "tree.json", '[{"name": "root", "id": "0", "children": [{"name": "a", "id": "06"}]}]'
    )
    assert (taxonomy.names, taxonomy.ids) == (("root", "a"), ("0", "06"))


def test_what_is_written_can_be_read_by_people(tmp_path: Path) -> None:
    Taxonomy.from_arrays(["é", "b"], [-1, 0], ids=["", "7"]).write(tmp_path / "tree.json")
    expected = [{"name": "é", "children": [{"name": "b", "id": "7", "class": 0}]}]
    text = (tmp_path / "tree.json").read_text(encoding="utf-8")
    assert json.loads(text) == expected
    assert "é" in text


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ('{"a": [1, "b"], "c": 0}', [
            "under 'a': expected a name in quotes or an object, got 1",
            "under 'c': expected an object, a list or null, got 0",
        ]),
        ('{"a": {"b": null, "b": null}}', ["key 'b' occurs 2 times in one object"]),
        ('{"a": ["b", "b"]}', ["2 nodes under 'a' are called 'b': expected distinct names, or ids"]),
        ('{"a": ["", " "]}', ["under 'a': a name is empty", "under 'a': a name is empty"]),
        ('[{"name": "a", "id": 7}]', ["'a' under the top: expected a text id, got 7"]),
        ('[{"name": "a", "id": "7"}, {"name": "b", "id": "7"}]', ["id '7' occurs 2 times: expected it once"]),
        ('[{"name": "a", "class": 0}, "b", {"name": "c", "class": 0}]', [
            "'b': expected a class from 0 to 2, got None",
            "'c': class 0 is already 'a'",
        ]),
        ("{}", ["the tree is empty: expected at least one node under the root"]),
        ("3", ["under the top: expected an object, a list or null, got 3"]),
        ('{"a":\n [1,}', ["line 2, column 5: not JSON: Expecting value"]),
        ("", ["line 1, column 1: not JSON: Expecting value"]),
    ],
)  # fmt: skip
def test_every_fault_is_said_with_its_place(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert faults_of(tmp_path, "tree.json", text) == faults


def test_nesting_too_deep_for_json_names_the_flat_form(tmp_path: Path) -> None:
    depth = 100_000
    (fault,) = faults_of(tmp_path, "tree.json", '{"a":' * depth + "{}" + "}" * depth)
    assert fault == "nested deeper than JSON can be read; json-flat holds trees of any depth"
