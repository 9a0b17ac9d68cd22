from pathlib import Path

import pytest

from hiercos.data import read_class_prior
from hiercos.errors import DataError
from trees import TOY


def written(folder: Path, text: str) -> Path:
    path = folder / "prior.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_priors_are_read_by_name_or_path_in_any_order_and_scaled(tmp_path: Path) -> None:
    path = written(tmp_path, "prior,class\n1,car\n2,pet > cat\n5,dog\n")
    assert read_class_prior(path, TOY) == (0.25, 0.625, 0.125)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,prior\ncat,1\ndog,1\n", "expected a prior of every class, got none of 'car'"),
        ("class,prior\ncat,1\ndog,1\ncar,1\ndog,2\n", "row 5: a second prior of the class 'dog'"),
        ("class,prior\ncat,0\n", "row 2: expected a prior above 0, got '0'"),
        ("class,prior\ncat,much\n", "row 2: expected a prior above 0, got 'much'"),
        ("class,prior\ncow,1\n", "row 2: .*'cow'"),
        ("class,share\ncat,1\n", "expected a column 'prior', got class, share"),
        ("class,prior\ncat\n", "row 2: expected 2 cells as in the header, got 1"),
    ],
)
def test_a_faulty_file_is_refused_by_row_and_value(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_class_prior(written(tmp_path, text), TOY)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a CSV or TSV file with the columns class and prior"):
        read_class_prior(tmp_path / "prior.json", TOY)
