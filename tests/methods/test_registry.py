import pytest

from hiercos.methods import METHODS, MethodError


def test_an_unknown_method_suggests_the_nearest() -> None:
    with pytest.raises(MethodError, match="unknown method 'hiercos'; did you mean 'hier-cos'"):
        METHODS["hiercos"]


def test_an_unknown_method_without_a_near_one_lists_all() -> None:
    with pytest.raises(MethodError, match=r"expected one of .*cross-entropy.*hier-cos"):
        METHODS["zzz"]


def test_an_unknown_option_suggests_the_nearest() -> None:
    with pytest.raises(MethodError, match="no option 'alhpa'; did you mean 'alpha'"):
        METHODS.check_options("hier-cos", {"alhpa": 1})


def test_options_are_listed_with_their_defaults() -> None:
    assert METHODS.options("cross-entropy-mlp") == {"width": None, "dropout": 0.0, "momentum": 0.1}


def test_every_method_says_what_it_is_in_one_line() -> None:
    assert all(len(METHODS.summary(name)) > 20 for name in METHODS)
