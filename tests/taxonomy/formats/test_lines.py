from pathlib import Path

from taxonomy_files import faults_of, read_text
from trees import TOY


def test_a_line_is_the_path_of_a_class(tmp_path: Path) -> None:
    assert read_text(tmp_path, "tree.txt", "\ufeffpet > cat\r\n\r\n  pet>dog\r\nvehicle >  car") == TOY


def test_every_fault_is_said_with_its_row_and_value(tmp_path: Path) -> None:
    text = "a > b\n\na > > c\na > b\n>\na > b > c\nd > \n"
    assert faults_of(tmp_path, "tree.txt", text) == [
        "row 3: the name at level 2 of 'a >  > c' is empty",
        "row 4: 'a > b' is already row 1",
        "row 5: the name at level 1 of ' > ' is empty",
        "row 7: the name at level 2 of 'd > ' is empty",
        "row 1: class 'b' is also an inner node: expected a leaf",
    ]


def test_a_file_without_a_path_is_refused(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.txt", "\n \n") == [
        "the file has no rows: expected one path a > b > c per line for each class"
    ]


def test_indentation_is_refused_and_not_read_as_a_flat_tree(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.txt", "Garden\n  Tools\n    Spades\nKitchen\n") == [
        "row 2 begins with blanks: indentation is not read; expected a path a > b > c"
    ]
