from pathlib import Path

import pytest

from taxonomy_files import faults_of, read_text
from trees import TOY


@pytest.mark.parametrize(
    "text",
    [
        "pet: [cat, dog]\nvehicle: [car]\n",
        "# animals first\npet:\n  cat:\n  dog: ~\nvehicle:\n  - car\n",
        "root:\n  pet:\n    - cat\n    - name: dog\n  vehicle: {car: null}\n",
        "- name: pet\n  children:\n    - {name: cat, class: 0}\n    - {name: dog, class: 1}\n"
        "- name: vehicle\n  children: [{name: car, class: 2}]\n",
    ],
)
def test_mappings_lists_and_named_nodes_are_the_same_tree(tmp_path: Path, text: str) -> None:
    assert read_text(tmp_path, "tree.yaml", text) == TOY


def test_every_value_stays_text(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.yml", "06: [06.10, 1e5, no, 2020-01-01, 'null']\n")
    assert taxonomy.names == ("06", "06.10", "1e5", "no", "2020-01-01", "null")


def test_class_numbers_order_the_classes_and_ids_stay_text(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.yaml", "- {name: x, id: 007, class: 1}\n- {name: y, id: 008, class: 0}\n")
    assert (taxonomy.class_names, taxonomy.ids) == (("y", "x"), ("007", "008"))


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a:\n  b:\n  b:\n~: [c]\n[d]: e\n", [
            "line 3, column 3: key 'b' occurs twice in one mapping",
            "line 4, column 1: expected a name, got null",
            "line 5, column 1: expected a name, got a list or mapping",
        ]),
        ("a: &same [b]\nc: *same\n", ["line 2, column 4: expected the nodes themselves, got the alias *same"]),
        ("a: [b\nc: d", ["line 2, column 2: not YAML: while parsing a flow sequence, "
                         "expected ',' or ']', but got ':'"]),
        ("a: [b]\n---\nc: [d]\n", ["line 2, column 1: not YAML: expected a single document in the stream, "
                                   "but found another document"]),
        ("a: \x00", ['not YAML: unacceptable character #x0000: special characters are not allowed in '
                     '"<unicode string>", position 3']),
        ("a: b", ["under 'a': expected an object, a list or null, got 'b'"]),
        ("- a\n-\n", ["line 2, column 2: under the top: expected a name in quotes or an object, got null"]),
        ("pet:\n- cat\n- dog\n- {name: cat}\n", [
            "line 4, column 4: 'cat' under 'pet' is already line 2, column 3: expected distinct names, or ids"
        ]),
        ("- pet: [cat]\n- pet:\n  - dog\n", [
            "line 2, column 3: 'pet' under the top is already line 1, column 3: expected distinct names, or ids"
        ]),
        ("a: ['']", ["under 'a': a name is empty"]),
        ("", ["the tree is empty: expected at least one node under the root"]),
        ("- {name: a, class: 1}\n- {name: b, class: x}\n", [
            "'b': expected a class from 0 to 1, got 'x'",
        ]),
    ],
)  # fmt: skip
def test_every_fault_is_said_with_its_place(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert faults_of(tmp_path, "tree.yaml", text) == faults


def test_nesting_too_deep_for_yaml_names_the_flat_form(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, "tree.yaml", "{a: " * 2_000 + "}" * 2_000)
    assert fault == "nested deeper than YAML can be read; json-flat holds trees of any depth"
