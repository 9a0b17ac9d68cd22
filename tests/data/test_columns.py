"""Rows of columns: their kinds, what their cells may be, and what each is told apart by."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiercos.data import ColumnInputs, column_inputs, column_kinds, guessed_kinds, load_dataset, read_inputs
from hiercos.errors import DataError

CELLS: dict[str, Any] = {
    "title": ["Red shoe", "", "blue  kettle"],
    "brand": ["Acme", "Zen", ""],
    "price": ["9.5", "", "1e3"],
    "vec": ["[1, 2]", "[0.5, -1]", ""],
    "seller": ["s1", "s1", "s2"],
    "date": ["2024-01-02", "2023-12-31", "2024-01-01"],
    "n": ["1", "2", "0.5"],
}
KINDS = {
    "title": "text",
    "brand": "category",
    "price": "number",
    "vec": "vector",
    "seller": "group",
    "date": "time",
    "n": "weight",
}


@pytest.fixture
def rows() -> ColumnInputs:
    return column_inputs(CELLS, KINDS)


def written(folder: Path, text: str) -> Path:
    path = folder / "goods.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_cells_are_read_by_the_kind_of_their_column(rows: ColumnInputs) -> None:
    assert rows.cells["title"] == CELLS["title"]
    np.testing.assert_array_equal(rows.cells["price"], [9.5, np.nan, 1000])
    np.testing.assert_array_equal(rows.cells["vec"], [[1, 2], [0.5, -1], [np.nan, np.nan]])
    assert rows.role("time").argsort().tolist() == [1, 2, 0]
    assert rows.role("weight").tolist() == [1, 2, 0.5]
    assert {name: rows.missing(name).tolist().index(True) for name in KINDS if rows.missing(name).any()} == {
        "title": 1,
        "brand": 2,
        "price": 1,
        "vec": 2,
    }
    assert rows.summary().startswith("columns: title (text, 33.3% missing), brand (category, 33.3% missing)")
    assert rows.sentence(0) == "title: Red shoe, brand: Acme, price: 9.5"


def test_rows_taken_and_joined_again_are_the_same(rows: ColumnInputs) -> None:
    again = ColumnInputs.joined([rows.take([0, 1]), rows.take([2])])
    assert again.split_keys() == rows.split_keys()
    assert again.role("group") == rows.role("group")


def test_a_row_is_told_apart_by_its_cells_whatever_the_order_of_the_columns(rows: ColumnInputs) -> None:
    turned = column_inputs(dict(reversed(CELLS.items())), dict(reversed(KINDS.items())))
    assert turned.split_keys() == rows.split_keys()
    other = column_inputs({**CELLS, "price": ["9.5", "0", "1e3"]}, KINDS)
    assert [one == two for one, two in zip(other.split_keys(), rows.split_keys(), strict=True)] == [True, False, True]
    values = {
        **CELLS,
        "price": [9.5, None, 1000],
        "vec": [[1, 2], (0.5, -1), None],
        "title": ["red SHOE", None, CELLS["title"][2]],
    }
    assert column_inputs(values, KINDS).split_keys() == rows.split_keys()


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", ""], "number"),
        ([1, None, 2.5], "number"),
        (["06", "07"], "text"),
        ([True, False, True, False], "category"),
        (["a", "b", "a", "b", ""], "category"),
        (["a red shoe", "a blue one"], "text"),
        (["[1, 2]", ""], "vector"),
        (np.zeros((2, 3)), "vector"),
        (["a.jpg", "b.PNG"], "image"),
    ],
)
def test_the_kind_of_a_column_is_guessed_by_its_cells(cells: Any, kind: str) -> None:
    assert guessed_kinds({"column": cells}, {"column": ""}) == {"column": kind}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("title,price:nmber", "price:nmber: expected NAME or NAME:KIND; did you mean 'number'?"),
        ("a:text,a:number", "the column 'a' appears twice"),
        ("a:group,b:time", "expected a column to learn from"),
        ("x,a:group,b:group", "expected one column of the kind group, got a and b"),
    ],
)
def test_columns_that_cannot_be_are_refused(given: str, said: str) -> None:
    with pytest.raises(DataError, match=said.replace("?", r"\?")):
        column_kinds(given)


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("price", "cheap", "row 2: 'price': expected a number, got 'cheap'"),
        ("price", "inf", "row 2: 'price': expected a number, got 'inf'"),
        ("vec", "[1]", "row 2: 'vec': expected 2 numbers as in the first row that has any, got 1"),
        ("date", "soon", "row 2: 'date': expected a number or a date such as 2024-05-31, got 'soon'"),
        ("n", "0", "row 2: 'n': expected a weight above 0, got '0'"),
        ("n", "", "row 2: 'n': expected a weight above 0, got ''"),
    ],
)
def test_a_cell_of_another_kind_is_named_by_its_row(column: str, cell: str, said: str) -> None:
    cells = {**CELLS, column: [CELLS[column][0], cell, CELLS[column][2]]}
    with pytest.raises(DataError) as error:
        column_inputs(cells, KINDS)
    assert error.value.faults == (f"inputs: {said}",)


def test_a_missing_column_is_named_with_the_nearest_one() -> None:
    with pytest.raises(DataError, match="expected a column 'title'; did you mean 'titel'"):
        column_inputs({"titel": ["a"]}, {"title": "text"})


def test_a_table_is_read_by_columns(tmp_path: Path) -> None:
    lines = ["title,price,label,shop", *(f"shoe {row},{row / 2},a > {row % 2},s{row % 3}" for row in range(40))]
    path = written(tmp_path, "\n".join(lines) + "\n")
    dataset = load_dataset(path, columns=column_kinds("title,price"), purpose="train")
    assert isinstance(dataset.inputs, ColumnInputs)
    assert dataset.inputs.kinds == {"title": "text", "price": "number"}
    assert any("columns: title (text), price (number)." in note for note in dataset.notes)
    everything = load_dataset(path, columns=column_kinds("all"), purpose="train").inputs
    assert isinstance(everything, ColumnInputs)
    assert everything.kinds == {"title": "text", "price": "number", "shop": "category"}
    found = read_inputs(path, kind="columns", columns={"price": "number", "seller": "group"}, keep_columns=["shop"])
    batch = next(found.batches(10))
    assert (batch.inputs.values([3]), batch.kept["shop"][3]) == ([{"price": 1.5}], "s0")


def test_columns_of_anything_but_a_table_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=np.zeros((2, 2)), labels=["a", "b"])
    with pytest.raises(DataError, match="--columns: expected a table"):
        load_dataset(tmp_path / "a.npz", columns={"title": "text"})
    path = written(tmp_path, "title,label\nx,a > b\n")
    with pytest.raises(DataError, match="'label' is the column of the labels"):
        load_dataset(path, columns={"title": "text", "label": "category"})
    with pytest.raises(DataError, match="expected a column 'titel'; did you mean 'title'"):
        load_dataset(path, columns={"titel": "text"})
