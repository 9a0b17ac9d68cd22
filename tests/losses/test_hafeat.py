import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.losses.hafeat import HAFeatLoss, divergence_terms
from losses.batches import padded_nodes, random_node_batch
from trees import TOY, ancestor_sets, taxonomies

Levels = list[dict[int, list[float]]]


def softmax(values: list[float]) -> list[float]:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def slow_jsd(p: list[float], q: list[float]) -> float:
    mixture = [min(max((a + b) / 2, 1e-7), 1) for a, b in zip(p, q, strict=True)]
    divergences = [
        sum(value * math.log(value / m) for value, m in zip(side, mixture, strict=True) if value > 0) for side in (p, q)
    ]
    return sum(divergences) / 2


class SlowHAFeat:
    """The loss term by term, with explicit families."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.nodes = padded_nodes(taxonomy)
        self.above = ancestor_sets(taxonomy)

    def ancestor(self, node: int, level: int) -> int | None:
        """The ancestor at a level (from 0), a leaf itself below its own level, None below an inner node."""
        path = self.taxonomy.path(node)
        if level < len(path):
            return path[level]
        return node if node in self.taxonomy.leaves else None

    def children(self, level: int, node: int) -> list[int]:
        """The nodes of level + 1 under a node of a level (from 0), or itself where it has ended."""
        below = self.nodes[level + 1]
        return [node] if node in below else [child for child in below if self.taxonomy.parents[child] == node]

    def split(self, row: list) -> list[list]:
        ends = [sum(len(nodes) for nodes in self.nodes[: level + 1]) for level in range(len(self.nodes))]
        return [row[end - len(nodes) : end] for end, nodes in zip(ends, self.nodes, strict=True)]

    def disagreement(self, p: list[list[float]]) -> float:
        total = 0.0
        for level, nodes in enumerate(self.nodes[:-1]):
            below = dict(zip(self.nodes[level + 1], p[level + 1], strict=True))
            summed = [sum(below[child] for child in self.children(level, node)) for node in nodes]
            total += slow_jsd(summed, p[level])
        return total

    def closeness(self, rows: Tensor) -> float:
        by_level = self.split(list(rows))
        total = 0.0
        for level, nodes in enumerate(self.nodes[:-1]):
            below = dict(zip(self.nodes[level + 1], by_level[level + 1], strict=True))
            cosines = [
                float(
                    F.normalize(torch.stack([below[child] for child in self.children(level, node)]).sum(0), dim=0) @ row
                )
                for node, row in zip(nodes, by_level[level], strict=True)
            ]
            total += sum(cosines) / len(cosines)
        return total

    def margins(self, p: list[list[list[float]]], labels: list[int], levels: list[int]) -> float:
        total = 0.0
        for level in levels:
            known = [self.ancestor(node, level - 1) for node in labels]
            values = [
                max(0.0, 3 - slow_jsd(p[sample][level - 1], p[sample - 1][level - 1]))
                for sample in range(len(labels))
                if None not in (known[sample], known[sample - 1]) and known[sample] != known[sample - 1]
            ]
            total += sum(values) / max(len(values), 1)
        return total

    def __call__(self, logits: Tensor, labels: list[int], rows: Tensor, margin_levels: list[int]) -> float:
        p = [[softmax(level) for level in self.split(row)] for row in logits.tolist()]
        entropies = [
            -math.log(
                sum(value for value, leaf in zip(own[-1], self.nodes[-1], strict=True) if node in self.above[leaf])
            )
            for own, node in zip(p, labels, strict=True)
        ]
        per_sample = sum(entropies) + sum(self.disagreement(own) for own in p)
        return per_sample / len(p) - self.closeness(rows) + self.margins(p, labels, margin_levels)


@settings(deadline=None, max_examples=40)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16), some=st.booleans(), inner_labels=st.booleans())
def test_the_loss_equals_a_loop_over_levels_families_and_pairs(
    taxonomy: Taxonomy, seed: int, some: bool, inner_labels: bool
) -> None:
    columns = sum(len(nodes) for nodes in padded_nodes(taxonomy))
    logits, labels, nodes = random_node_batch(taxonomy, columns, seed=seed)
    chosen = slice(None) if inner_labels else slice(3)
    logits, labels, nodes = logits[chosen], labels[chosen], nodes[chosen]
    rows = F.normalize(normal(columns, 3, seed=seed), dim=1)
    inner = list(range(1, taxonomy.height))
    levels = inner[1:] if some else inner
    loss = HAFeatLoss(taxonomy, lambda: rows, margin_levels=levels if some else None)(logits, labels)
    expected = SlowHAFeat(taxonomy)(logits, nodes.tolist(), rows, levels)
    assert float(loss) == pytest.approx(expected, rel=1e-9)


def test_the_loss_of_equal_logits_worked_by_hand() -> None:
    # cat and car, and rows that are all the same: log 3; summed leaves (2/3, 1/3) against (1/2, 1/2); a cosine of 1;
    # and both pairs differ at level 1 with equal probabilities
    rows = torch.ones(5, 1)
    loss = HAFeatLoss(TOY, lambda: rows)(torch.zeros(2, 5), torch.tensor([0, 2]))
    one_side = (2 / 3) * math.log((2 / 3) / (7 / 12)) + (1 / 3) * math.log((1 / 3) / (5 / 12))
    other_side = (1 / 2) * math.log((1 / 2) / (7 / 12)) + (1 / 2) * math.log((1 / 2) / (5 / 12))
    assert float(loss) == pytest.approx(math.log(3) + (one_side + other_side) / 2 - 1 + 3, rel=1e-6)


def test_pairs_weigh_as_much_as_both_samples() -> None:
    logits, labels = torch.randn(3, 5), torch.tensor([0, 2, 0])
    loss = HAFeatLoss(TOY, lambda: torch.ones(5, 1))
    without = loss(logits, labels, torch.tensor([1.0, 1.0, 0.0]))
    torch.testing.assert_close(without, loss(logits[:2], labels[:2]))


def test_certain_answers_have_finite_gradients() -> None:
    logits = torch.tensor([[500.0, 0, 500, 0, 0], [0, 500, 0, 0, 500]], requires_grad=True)
    HAFeatLoss(TOY, lambda: torch.ones(5, 1))(logits, torch.tensor([0, 2])).backward()
    assert torch.isfinite(logits.grad).all()


def test_the_divergence_of_sure_and_different_answers_is_log_two() -> None:
    p, q = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    assert float(divergence_terms(p, q).sum()) == pytest.approx(math.log(2))


@pytest.mark.parametrize("level", [0, 2])
def test_a_margin_level_must_lie_above_the_leaves(level: int) -> None:
    with pytest.raises(ValueError, match=f"expected margin levels from 1 to 1, above the leaves, got {level}"):
        HAFeatLoss(TOY, lambda: torch.ones(5, 1), margin_levels=[level])


def test_nothing_of_the_classifier_is_saved_twice() -> None:
    loss = HAFeatLoss(TOY, torch.nn.Linear(2, 5).weight.clone)
    assert list(loss.state_dict()) == []
    assert list(loss.parameters()) == []
    assert list(copy.deepcopy(loss).parameters()) == []
