import numpy as np
import pytest
from torch import nn

from hiercos import Taxonomy
from hiercos.methods import METHODS, TransformationModule
from trees import TOY17

STRAIGHT = ("hxe", "soft-labels", "yolo-v2", "barz-denzler", "hace", "conditional-softmax")
TYPE_ONE = ("cross-entropy", "flamingo-1", "hafeat-1")
BEHIND_BLOCKS = ("c-hmcnn", "cross-entropy-mlp", "flamingo-2", "hafeat-2", "haframe", "hier-cos", "path-softmax")


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
    committees = {"committee", "flat-committee"}  # their members have one
    assert {name for name in METHODS if "width" in METHODS.options(name)} - committees == {*STRAIGHT, *BEHIND_BLOCKS}


@pytest.mark.parametrize("name", TYPE_ONE)
def test_methods_of_type_one_have_no_width(name: str) -> None:
    assert "width" not in METHODS.options(name)


# A tree with the 30, 70 and 100 nodes a level of FGVC-Aircraft.
FGVC = Taxonomy.from_paths([(f"m{y % 30}", f"f{y % 30}-{y // 30 % 2 + 2 * (y >= 90)}", f"v{y}") for y in range(100)])


@pytest.mark.parametrize(
    ("name", "size"), [("cross-entropy", 1_294_796), ("flamingo-1", 1_300_896), ("hafeat-1", 1_354_896)]
)
def test_with_600_hidden_units_a_head_has_as_many_parameters_as_the_official_one_on_resnet_50(
    name: str, size: int
) -> None:
    assert np.bincount(FGVC.depths).tolist() == [0, 30, 70, 100]
    head = METHODS[name](FGVC, in_features=2048, hidden=600).head
    assert sum(value.numel() for value in head.parameters()) == size


@pytest.mark.parametrize(
    ("name", "stem", "size"),
    [
        ("cross-entropy-mlp", 100, 256_300),
        ("flamingo-2", 100, 257_490),
        ("hafeat-2", 100, 266_400),
        ("haframe", 100, 246_200),
        ("hier-cos", 200, 572_400),
    ],
)
def test_behind_the_published_stem_a_head_has_as_many_trained_parameters_as_the_official_one(
    name: str, stem: int, size: int
) -> None:
    head = METHODS[name](FGVC, in_features=stem).head
    assert 2048 * stem + sum(value.numel() for value in head.parameters()) == size
