from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos.cli.display.output import csv_columns_text
from hiercos.csv_text import csv_text

TEXTS = st.text(st.sampled_from('ab ,"\r\n;=\té\x00'))
COLUMNS = (
    TEXTS,
    st.integers(),
    st.floats(),
    st.none() | st.floats(),
    st.none() | st.integers() | st.floats(),
    st.booleans(),
    TEXTS | st.integers() | st.none(),  # mixed: cell by cell
)


@st.composite
def columns(draw: st.DrawFn) -> list[list[Any]]:
    rows, kinds = draw(st.integers(0, 4)), draw(st.lists(st.sampled_from(COLUMNS), max_size=4))
    return [draw(st.lists(kind, min_size=rows, max_size=rows)) for kind in kinds]


@settings(max_examples=500)
@given(columns())
def test_columns_and_rows_give_the_same_text(given_columns: list[list[Any]]) -> None:
    assert csv_columns_text(given_columns) == csv_text(zip(*given_columns, strict=True))
