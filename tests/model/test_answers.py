import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos.data import InputBatch, Texts
from hiercos.decisions import LeastCost, Posterior, rule
from hiercos.model import (
    answer_columns,
    explanation_columns,
    explanations,
    kept_names,
    with_kept_columns,
)
from hiercos.model.answers import rounded_values
from trees import TOY

POSTERIOR = Posterior([[0.5, 0.125, 0.375], [0.4, 0.35, 0.25], [0.3, 0.3, 0.4]], TOY)


def test_an_explanation_has_the_probabilities_of_the_answers_path_and_the_runner_ups() -> None:
    found = explanations(POSTERIOR, rule("back-off", confidence=0.7)(POSTERIOR))
    assert [step["node"] for step in found[1]["path"]] == ["pet"]
    assert [step["probability"] for step in found[1]["path"]] == pytest.approx([0.75])
    assert [step["node"] for step in found[1]["runner_up"]] == ["vehicle", "car"]  # the likeliest class that is no pet
    assert found[2]["path"] == found[2]["runner_up"] == []  # the root: nothing is outside
    own = explanations(POSTERIOR, rule("none")(POSTERIOR))
    assert [[step["node"] for step in each["runner_up"]] for each in own] == [
        ["vehicle", "car"],
        ["pet", "dog"],
        ["pet", "cat"],
    ]
    assert (own[0]["criterion"], own[0]["value"]) == ("class score", 0.5)


def test_the_columns_have_one_cell_for_each_level() -> None:
    columns = explanation_columns(POSTERIOR, rule("back-off", confidence=0.7)(POSTERIOR))
    assert columns["probability_1"] == [None, 0.75, None]
    assert columns["probability_2"] == [None, None, None]
    assert columns["runner_up_1"] == ["", "vehicle", ""]
    assert columns["runner_up_probability_2"] == [None, 0.25, None]
    assert set(map(len, columns.values())) == {3}


def test_energies_stand_beside_the_probabilities() -> None:
    shares = np.array([[0.5, 0.1, 0.2, 0.1, 0.1]])  # pet, vehicle, cat, dog, car
    posterior = Posterior([[0.5, 0.125, 0.375]], TOY, energies=shares)
    (found,) = explanations(posterior.within([0, 1]), rule("none")(posterior))
    assert [step["energy"] for step in found["path"]] == [0.5, 0.2]
    assert [step["energy"] for step in found["runner_up"]] == [0.1, 0.1]
    columns = explanation_columns(posterior.rows([0]), rule("none")(posterior))
    assert (columns["energy_2"], columns["runner_up_energy_1"]) == ([0.2], [0.1])


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
