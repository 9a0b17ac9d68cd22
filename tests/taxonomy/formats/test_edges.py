from pathlib import Path

import pytest

from taxonomy_files import faults_of, read_text
from trees import TOY


@pytest.mark.parametrize(
    "text",
    [
        "parent,child\npet,cat\npet,dog\nvehicle,car\n",
        "child,note,parent\npet,,\nvehicle,,\ncat,x,pet\ndog,y,pet\ncar,z,vehicle\n",
        "Parent,Child\nroot,pet\nroot,vehicle\npet, cat\npet, dog\nvehicle, car\n",
    ],
)
def test_parents_and_children_are_read_whatever_the_order_of_the_columns(tmp_path: Path, text: str) -> None:
    assert read_text(tmp_path, "tree.csv", text) == TOY


def test_with_names_the_children_are_ids(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.tsv", "parent\tchild\tname\n\t06\tFruit\n06\t06.10\tApple\n06\t06.20\t\n")
    assert taxonomy.names == ("Fruit", "Apple", "06.20")
    assert taxonomy.ids == ("06", "06.10", "06.20")


def test_every_fault_is_said_with_its_row_and_value(tmp_path: Path) -> None:
    rows = ["parent,child", ",a", "a,b", "a,", "a,b", "x,b", "a", "lost,d", "f,e", "e,f"]
    assert faults_of(tmp_path, "tree.csv", "\n".join(rows)) == [
        "row 4: the child of 'a' is empty",
        "row 5: 'a', 'b' is already row 3",
        "row 7: expected 2 fields as in the header, got 1: ['a']",
        "row 6: parent 'x' is never a child, though blank parents mark the top",
        "row 8: parent 'lost' is never a child, though blank parents mark the top",
        "row 9: 'e' is on a cycle, e > f > e",
    ]


def test_a_table_without_the_columns_is_no_edge_table(tmp_path: Path) -> None:
    text = "from,to\na,b\n"
    assert faults_of(tmp_path, "tree.csv", text, format="edges") == [
        "row 1: expected a column 'parent', got from, to",
        "row 1: expected a column 'child', got from, to",
    ]
    assert read_text(tmp_path, "tree.csv", text).class_names == ("b",)
