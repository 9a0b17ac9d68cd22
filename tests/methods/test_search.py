import re
from pathlib import Path

import numpy as np
import pytest

from hiercos.methods import METHODS, MethodError, build_method
from hiercos.methods.search import Between, OneOf
from trees import TOY

SEARCHED = [name for name in METHODS if METHODS.search(name)]


def test_the_methods_with_a_trade_off_of_their_own_say_where_to_look_for_it() -> None:
    assert {"hier-cos", "hxe", "soft-labels", "haframe"} <= set(SEARCHED)
    assert not METHODS.search("cross-entropy")
    with pytest.raises(MethodError, match="did you mean 'hxe'"):
        METHODS.search("hxr")


@pytest.mark.parametrize("name", SEARCHED)
def test_every_value_drawn_is_one_the_method_takes_and_the_default_is_among_them(name: str) -> None:
    generator = np.random.default_rng(0)
    space = METHODS.search(name)
    assert all(METHODS.options(name)[option] in values for option, values in space.items())
    for _ in range(5):
        build_method(name, TOY, 8, {option: values.draw(generator) for option, values in space.items()})


def test_the_documentation_lists_every_option_searched() -> None:
    page = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)`: `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert {(name, option): text for name, option, text in rows} == {
        (name, option): str(space) for name in SEARCHED for option, space in METHODS.search(name).items()
    }


def test_a_range_by_order_of_magnitude_has_half_its_draws_below_the_geometric_mean() -> None:
    generator = np.random.default_rng(1)
    values = [Between(0.001, 0.1, log=True).draw(generator) for _ in range(2000)]
    assert min(values) >= 0.001
    assert max(values) <= 0.1
    assert np.mean(np.array(values) < 0.01) == pytest.approx(0.5, abs=0.04)
    assert all(value == float(f"{value:.3g}") for value in values)


def test_an_even_range_has_half_its_draws_below_the_middle() -> None:
    generator = np.random.default_rng(2)
    values = [Between(1, 5).draw(generator) for _ in range(2000)]
    assert np.mean(np.array(values) < 3) == pytest.approx(0.5, abs=0.04)


def test_every_one_of_a_few_values_is_drawn() -> None:
    generator = np.random.default_rng(3)
    assert {OneOf(1.0, 2.0, "x").draw(generator) for _ in range(50)} == {1.0, 2.0, "x"}


def test_spaces_are_written_as_the_documentation_lists_them() -> None:
    assert str(Between(0.001, 0.5, log=True)) == "0.001 to 0.5 (log)"
    assert str(Between(1, 5)) == "1 to 5"
    assert str(OneOf(1.0, 2.0)) == "1.0, 2.0"
