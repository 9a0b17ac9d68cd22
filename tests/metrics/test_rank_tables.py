"""What is kept between calls works in any mode, and what is made in a call stays small."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from hiercos import Taxonomy
from hiercos.metrics import functional as HF
from hiercos.metrics import rank_tables as tables
from trees import random_tree

Function = Callable[[Tensor, Tensor, Taxonomy], Tensor]


def by_classes(taxonomy: Taxonomy, rows: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    labels = torch.randint(taxonomy.num_classes, (rows,), generator=generator)
    return torch.rand(rows, taxonomy.num_classes, generator=generator), labels


def by_nodes(taxonomy: Taxonomy, rows: int) -> tuple[Tensor, Tensor]:
    scores, labels = by_classes(taxonomy, rows)
    return HF.summed_probabilities(scores / scores.sum(dim=1, keepdim=True), taxonomy), labels


@pytest.mark.parametrize("most_tabulated", [0, 5_000])
@pytest.mark.parametrize("variant", ["published", "paper", "exact"])
def test_tables_made_in_inference_mode_serve_outside_it(
    variant: Any, most_tabulated: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MOST_TABULATED", most_tabulated)
    taxonomy = random_tree(70 + len(variant) + most_tabulated, 40)  # a tree that no other test has tables of
    scores, labels = by_classes(taxonomy, 60)
    with torch.inference_mode():
        inside = HF.hops(scores[:3], labels[:3], taxonomy, variant=variant)
    outside = HF.hops(scores, labels, taxonomy, variant=variant)
    assert torch.equal(inside, outside[:3])


def test_probabilities_take_gradients_after_a_call_in_inference_mode() -> None:
    taxonomy = random_tree(90, 40)
    leaves = torch.rand(2, taxonomy.num_classes, requires_grad=True)
    with torch.inference_mode():
        HF.summed_probabilities(leaves.detach(), taxonomy)
        HF.hops(leaves.detach(), torch.tensor([0, 1]), taxonomy)
    HF.summed_probabilities(leaves, taxonomy).sum().backward()
    kept = vars(tables.rank_tables(taxonomy, leaves.device)).values()
    assert leaves.grad is not None
    assert not any(value.is_inference() for value in kept if isinstance(value, Tensor))


def tensors_in(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            yield from tensors_in(part)


class LargestMade(TorchDispatchMode):
    """Remembers the most entries of any tensor made, views of older ones aside."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        older = {tensor.untyped_storage().data_ptr() for tensor in tensors_in(args)}
        made = (tensor for tensor in tensors_in(result) if tensor.untyped_storage().data_ptr() not in older)
        self.entries = max([self.entries, *(tensor.numel() for tensor in made)])
        return result


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (HF.reciprocal_rank, by_classes),
        (HF.normalized_rank, by_nodes),
        (HF.level_accuracy, by_nodes),
        (HF.calibration_error, by_nodes),
        (HF.hops, by_classes),
    ],
)
def test_nothing_as_large_as_the_scores_is_made(
    function: Function, inputs: Callable[..., tuple[Tensor, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    taxonomy = Taxonomy.from_paths([(f"{c % 30}", f"{c}") for c in range(300)])
    scores, labels = inputs(taxonomy, 400)
    whole = function(scores, labels, taxonomy)  # makes the tables, too
    monkeypatch.setattr(tables, "CHUNK", 3 * scores.shape[1])
    with LargestMade() as largest:
        in_parts = function(scores, labels, taxonomy)
    assert largest.entries < scores.numel() / 4
    torch.testing.assert_close(in_parts, whole, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(("function", "inputs"), [(HF.reciprocal_rank, by_classes), (HF.normalized_rank, by_nodes)])
def test_a_nan_in_a_later_part_is_named_by_its_own_row(
    function: Function, inputs: Callable[..., tuple[Tensor, Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    taxonomy = random_tree(92, 30)
    scores, labels = inputs(taxonomy, 50)
    scores[31, 2] = torch.nan
    monkeypatch.setattr(tables, "CHUNK", 4 * scores.shape[1])
    with pytest.raises(ValueError, match="row 31: a score is NaN"):
        function(scores, labels, taxonomy)
