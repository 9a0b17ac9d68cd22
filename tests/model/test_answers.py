import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos.data import InputBatch, Texts
from hiercos.decisions import LeastCost, Posterior, rule
from hiercos.model import answer_columns, kept_names, with_kept_columns
from hiercos.model.answers import rounded_values
from trees import TOY

POSTERIOR = Posterior([[0.5, 0.125, 0.375], [0.4, 0.35, 0.25], [0.3, 0.3, 0.4]], TOY)


def test_each_level_has_a_confidence_on_request() -> None:
    batch = InputBatch([2, 3, 4], Texts(["a", "b", "c"]))
    columns = answer_columns(batch, POSTERIOR, rule("back-off", confidence=0.7), level_confidences=True)
    assert columns["level_1_confidence"] == [None, 0.75, None]
    assert columns["level_2_confidence"] == [None, None, None]
    listed = answer_columns(batch, POSTERIOR, rule("none"), top=2, level_confidences=True)
    assert listed["level_1_confidence"] == [0.625, 0.375, 0.75, 0.75, 0.4, 0.6]
    assert listed["level_2_confidence"] == listed["confidence"]


def test_an_answer_that_cannot_say_has_no_confidence() -> None:
    batch, back_off = InputBatch([2, 3, 4], Texts(["a", "b", "c"])), rule("back-off", confidence=0.7)
    columns = answer_columns(batch, POSTERIOR, back_off)
    assert columns["level"] == [0, 1, 0]
    assert columns["confidence"] == columns["score"] == [None, 0.75, None]
    costs = LeastCost((-1,), ((2.0, 2.0, 2.0),))  # always the root, at a cost of 2: that is a score, no probability
    columns = answer_columns(batch, POSTERIOR, costs)
    assert (columns["confidence"], columns["score"]) == ([None] * 3, [-2.0] * 3)


def test_kept_columns_stand_after_the_row_and_are_repeated_in_a_list() -> None:
    batch = InputBatch([2, 5], Texts(["a", "b"]), {"shop": ["x", "y"], "class": ["old", "older"]})
    columns = with_kept_columns(answer_columns(batch, POSTERIOR.rows([0, 1]), rule("none"), top=2), batch)
    assert list(columns)[:5] == ["row", "shop", "input_class", "text", "rank"]
    assert columns["row"] == [2, 2, 5, 5]
    assert columns["shop"] == ["x", "x", "y", "y"]
    assert columns["input_class"] == ["old", "old", "older", "older"]
    assert columns["class"] == ["cat", "car", "cat", "dog"]


def test_a_kept_column_never_takes_the_name_of_another() -> None:
    assert kept_names(["id", "input_id", "shop"], ["row", "id"]) == {
        "id": "input_input_id",
        "input_id": "input_id",
        "shop": "shop",
    }


@settings(max_examples=300)
@given(
    st.lists(
        st.floats(width=64)
        | st.floats(width=32)
        | st.floats(0, 1)
        | st.integers(0, 10**7).map(lambda half: (half + 0.5) / 1e6)  # near the middle between two results
        | st.integers(-(10**7), 10**7).map(lambda whole: np.nextafter(whole / 2e6, 1.0))
    )
)
def test_values_are_rounded_as_python_rounds_them(values: list[float]) -> None:
    wanted = [repr(round(value, 6)) for value in map(float, values)]
    assert [repr(value) for value in rounded_values(np.array(values, dtype=np.float64))] == wanted


def test_values_in_single_precision_are_rounded_in_double_precision() -> None:
    value = np.array([0.1, 16777217.3], dtype=np.float32)
    assert rounded_values(value, np.array([True, False])) == [round(float(value[0]), 6), None]
