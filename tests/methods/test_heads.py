import pytest
from torch import nn

from hiercos.methods import METHODS
from hiercos.nn import TransformationModule
from trees import TOY17

STRAIGHT = ("hxe", "soft-labels", "yolo-v2", "barz-denzler")
BEHIND_BLOCKS = ("cross-entropy-mlp", "flamingo-2", "hafeat-2", "haframe", "hier-cos", "path-softmax")


def blocks(head: nn.Module) -> list[TransformationModule]:
    return [module for module in head.modules() if isinstance(module, TransformationModule)]


@pytest.mark.parametrize("name", STRAIGHT)
def test_without_a_width_the_classifier_stands_on_the_features(name: str) -> None:
    assert blocks(METHODS[name](TOY17, in_features=6).head) == []


@pytest.mark.parametrize("name", STRAIGHT + BEHIND_BLOCKS)
def test_at_one_width_every_method_has_the_same_blocks(name: str) -> None:
    [body] = blocks(METHODS[name](TOY17, in_features=6, width=32, dropout=0.25).head)
    reference = TransformationModule(6, 32)
    assert [value.shape for value in body.parameters()] == [value.shape for value in reference.parameters()]
    assert body.stem[-1].p == 0.25


@pytest.mark.parametrize("width", [0, -3])
@pytest.mark.parametrize("name", STRAIGHT + BEHIND_BLOCKS)
def test_a_width_below_one_is_refused(name: str, width: int) -> None:
    with pytest.raises(ValueError, match=f"expected in_features and width of at least 1, got 6 and {width}"):
        METHODS[name](TOY17, in_features=6, width=width)


def test_every_method_with_a_width_is_tested_here() -> None:
    assert {name for name in METHODS if "width" in METHODS.options(name)} == {*STRAIGHT, *BEHIND_BLOCKS}


@pytest.mark.parametrize("name", ["cross-entropy", "flamingo-1", "hafeat-1"])
def test_methods_of_type_one_have_no_width(name: str) -> None:
    assert "width" not in METHODS.options(name)
