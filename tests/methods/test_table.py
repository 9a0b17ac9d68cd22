import numpy as np
import pytest
import torch

from hiercos.methods import METHODS, Between, Committee, MethodError, build_method
from trees import TOY

SEARCHED = [name for name in METHODS if METHODS.row(name).search]


def test_the_methods_with_a_trade_off_of_their_own_say_where_to_look_for_it() -> None:
    assert {"hier-cos", "hxe", "soft-labels", "haframe"} <= set(SEARCHED)
    assert not METHODS.row("cross-entropy").search
    with pytest.raises(MethodError, match="did you mean 'hxe'"):
        METHODS.row("hxr")


@pytest.mark.parametrize("name", SEARCHED)
def test_every_value_drawn_is_one_the_method_takes_and_the_default_is_among_them(name: str) -> None:
    generator = np.random.default_rng(0)
    space = METHODS.row(name).search
    assert all(METHODS.options(name)[option] in values for option, values in space.items())
    for _ in range(5):
        build_method(name, TOY, 8, {option: values.draw(generator) for option, values in space.items()})


def test_a_range_by_order_of_magnitude_has_half_its_draws_below_the_geometric_mean() -> None:
    generator = np.random.default_rng(1)
    values = [Between(0.001, 0.1, log=True).draw(generator) for _ in range(2000)]
    assert min(values) >= 0.001
    assert max(values) <= 0.1
    assert np.mean(np.array(values) < 0.01) == pytest.approx(0.5, abs=0.04)
    assert all(value == float(f"{value:.3g}") for value in values)


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_has_a_solver_if_its_traits_say_so(name: str) -> None:
    method = METHODS[name](TOY, in_features=4)
    assert (method.solver is not None or isinstance(method.head, Committee)) == METHODS.traits(name).solved


def test_every_method_says_what_it_is_in_one_line() -> None:
    assert all(len(METHODS.summary(name)) > 20 for name in METHODS)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("alpha", "abc", "option alpha: expected a number, got 'abc'"),
        ("alpha", float("nan"), "option alpha: expected a number, got nan"),
        ("alpha", True, "option alpha: expected a number, got True"),
        ("width", 2.5, "option width: expected an integer or none, got 2.5"),
        ("basis", "foo", "option basis: expected one of 'identity', 'random', got 'foo'"),
        ("ancestors", 1, "option ancestors: expected true or false, got 1"),
    ],
)
def test_a_value_of_a_wrong_kind_is_refused_by_name(option: str, value: object, expected: str) -> None:
    with pytest.raises(MethodError) as caught:
        build_method("hier-cos", TOY, 8, {option: value})
    assert str(caught.value) == f"method 'hier-cos': {expected}"


def test_all_wrong_options_are_named_at_once() -> None:
    with pytest.raises(MethodError) as caught:
        build_method("hier-cos", TOY, 8, {"alpha": "abc", "alhpa": 1})
    assert len(caught.value.faults) == 2


def test_levels_are_given_as_a_list_of_integers() -> None:
    build_method("hafeat-1", TOY, 8, {"margin_levels": [1]})
    with pytest.raises(
        MethodError, match="option margin_levels: expected a list with an integer in each place or none"
    ):
        build_method("hafeat-1", TOY, 8, {"margin_levels": ["one"]})


@pytest.mark.parametrize(
    ("name", "options", "given"),
    [
        ("haframe", {"gamma": -1}, "gamma=-1"),
        ("hafeat-1", {"margin_levels": [5]}, r"margin_levels=\[5\]"),
        ("hxe", {"dropout": 2}, "dropout=2"),
        ("hier-cos", {"width": 0}, "width=0"),
    ],
)
def test_a_value_that_the_method_refuses_is_said_with_its_option(name: str, options: dict, given: str) -> None:
    with pytest.raises(MethodError, match=f"method '{name}' with {given}: .+"):
        build_method(name, TOY, 8, options)


def test_only_the_flat_methods_do_without_the_tree() -> None:
    flat = {name for name in METHODS if not METHODS.traits(name).uses_tree}
    heads = {"cross-entropy", "cross-entropy-mlp", "flat-committee"}
    assert flat == heads | {"centroids", "gaussian", "linear-svm", "logistic"}


def test_the_methods_that_take_inner_labels_are_named() -> None:
    first, *others = METHODS.with_inner_labels()
    assert first == "committee"
    assert others == sorted(name for name in METHODS if METHODS.traits(name).inner_labels and name != "committee")
    without = {"barz-denzler", "haframe", "soft-labels", "centroids", "gaussian"}
    without |= {"linear-svm", "logistic", "tree-logistic"}
    assert {*METHODS} - {*METHODS.with_inner_labels()} == without
    assert METHODS.traits("committee").inner_labels
    METHODS.check_labels("hier-cos", torch.tensor([0, 3]), TOY)
    METHODS.check_labels("haframe", torch.tensor([0, 2]), TOY)
    with pytest.raises(MethodError) as error:
        METHODS.check_labels("haframe", torch.tensor([0, 3, 3]), TOY)
    assert str(error.value).startswith(
        "method 'haframe' needs a class for every training sample, got inner nodes for 2 of 3; "
        "methods that learn from inner nodes: "
    )


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_takes_or_refuses_inner_labels_as_it_says(name: str) -> None:
    method = METHODS[name](TOY, in_features=4)
    outputs, labels = method.head(torch.randn(3, 4)), torch.tensor([0, 3, 2])  # 3 is the node pet
    if METHODS.traits(name).inner_labels:
        assert torch.isfinite(method.loss(outputs, labels))
    else:
        with pytest.raises(IndexError, match="3"):
            method.loss(outputs, labels)


def test_recommended_options_are_options_of_their_method() -> None:
    recommended = {name: METHODS.row(name).recommended for name in METHODS}
    for name, options in recommended.items():
        METHODS.check_options(name, options)
    assert recommended["hier-cos"] == {"reading": "shares", "alpha": 0.0}
    assert recommended["cross-entropy"] == {}
