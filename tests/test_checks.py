import pytest

from hiercos.checks import check_choice, check_count, json_object, kind_fault, option_faults
from hiercos.errors import FaultsError


def test_a_value_outside_the_choices_is_a_value_error_that_lists_them() -> None:
    check_choice("rule", "crm", ("none", "crm"))
    with pytest.raises(ValueError, match=r"^expected rule to be one of none, crm, got 'hops'$"):
        check_choice("rule", "hops", ("none", "crm"))


@pytest.mark.parametrize("value", [0, 2.5, True, "3", None])
def test_a_count_is_an_integer_of_at_least_so_much(value: object) -> None:
    check_count("workers", 1)
    with pytest.raises(FaultsError, match=r"^expected workers of at least 1, got "):
        check_count("workers", value)


def test_a_value_of_the_kind_has_no_fault() -> None:
    assert kind_fault("dropout", 0, float) is None
    assert kind_fault("dropout", "0", float) == "dropout: expected a number, got '0'"


def test_every_option_that_is_unknown_or_of_a_wrong_kind_has_a_fault() -> None:
    faults = option_faults(
        "method 'm'", {"alpha": 1.5, "beta": True, "alhpa": 2}, {"alpha": float, "beta": int}, ["alpha", "beta"]
    )
    assert faults == [
        "method 'm' has no option 'alhpa'; did you mean 'alpha'?",
        "method 'm': option beta: expected an integer, got True",
    ]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "-1.5e400"])
def test_numbers_of_json_are_finite(number: str) -> None:
    assert json_object("file", '{"a": [1e300, -2.5]}', FaultsError) == {"a": [1e300, -2.5]}
    with pytest.raises(FaultsError, match=f"file: not JSON .expected finite numbers, got {number}"):
        json_object("file", f'{{"a": [{number}]}}', FaultsError)
