"""The losses on graphs against loops over sets of ancestors; on trees the graph code equals the tree code."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.losses import CrossEntropyLoss, HierCOSLoss, PathLogLoss
from hiercos.losses.paths import LabelAncestors
from hiercos.taxonomy import nodes_of_labels
from trees import ancestor_sets, descendant_sets, graphs, taxonomies

PENALTIES = ("published", "printed", "scale-free")
GROUPINGS = ("published", "sample")


def batch(taxonomy: Taxonomy, seed: int, columns: int) -> tuple[Tensor, Tensor]:
    """Random outputs (5, columns) that take gradients and labels (5,) of any depth."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, taxonomy.num_classes + taxonomy.num_nodes, (5,), generator=generator)
    return normal(5, columns, seed=seed).mul(2).requires_grad_(), labels


def slow_terms(
    z: Tensor, node: int, taxonomy: Taxonomy, penalty: str, below_label: str
) -> tuple[Tensor, dict[int, Tensor], dict[int, Tensor]]:
    """Divergence of one sample, its terms at the levels that it has, and those at the levels below it."""
    above, below = ancestor_sets(taxonomy)[node], descendant_sets(taxonomy)[node] - {node}
    depth, kept = int(taxonomy.depths[node]), [each for each in range(taxonomy.num_nodes) if each not in below]
    at = {level: [each for each in above if taxonomy.depths[each] == level] for level in range(1, depth + 1)}
    deepest = max(int(taxonomy.depths[each]) for each in {node} | below)
    weights = {level: math.exp(2 / (deepest + 1 - level)) for level, own in at.items() if own}
    deeper = sum(math.exp(2 / (deepest + 1 - level)) for level in range(depth + 1, deepest + 1))
    known = sum(weights.values()) / (sum(weights.values()) + deeper)
    share = {each: weights[level] / sum(weights.values()) / len(at[level]) for level in weights for each in at[level]}
    log_q = z.abs() - z.abs()[kept].logsumexp(dim=0)
    divergence = known * sum((p * (math.log(p) - log_q[each]) for each, p in share.items()), z.new_zeros(()))
    if below_label == "merged" and below:
        log_q = z.abs().log_softmax(dim=0)
        divergence = sum(
            (known * p * (math.log(known * p) - log_q[each]) for each, p in share.items()), z.new_zeros(())
        )
        divergence = divergence + (1 - known) * (math.log(1 - known) - log_q[list(below)].logsumexp(dim=0))
    present, missing = {}, {}
    for level in range(1, taxonomy.height + 1):
        columns = [each for each in range(taxonomy.num_nodes) if taxonomy.depths[each] == level]
        own = z[columns] if penalty == "printed" else z[columns].abs()
        unit = own / own.norm()
        if at.get(level):
            delta = torch.tensor([(each in above) / math.sqrt(len(at[level])) for each in columns], dtype=z.dtype)
            present[level] = (delta - unit).abs().sum()
            if penalty == "printed" and level == depth:
                present[level] = present[level] + unit.abs().sum()
        elif any(taxonomy.depths[each] == level for each in below):
            present[level] = unit.abs()[[each in kept for each in columns]].sum()
        elif level > depth:
            scale = {"published": 1, "printed": own.norm(), "scale-free": z.norm()}[penalty]
            missing[level] = own.abs().sum() / scale
    return divergence, present, missing


def slow_loss(z: Tensor, labels: Tensor, taxonomy: Taxonomy, penalty: str, grouping: str, below_label: str) -> Tensor:
    rows = [
        slow_terms(row, int(node), taxonomy, penalty, below_label)
        for row, node in zip(z, nodes_of_labels(labels, taxonomy), strict=True)
    ]
    loss = torch.stack([row[0] for row in rows]).mean()
    if grouping == "sample":
        sums = [sum((*present.values(), *missing.values()), z.new_zeros(())) for _, present, missing in rows]
        return loss + 0.3 * torch.stack(sums).mean()
    for kind, level in product((1, 2), range(1, taxonomy.height + 1)):
        group = [row[kind][level] for row in rows if level in row[kind]]
        loss = loss + (0.3 * torch.stack(group).mean() if group else 0)
    return loss


@pytest.mark.parametrize(("penalty", "grouping"), list(product(PENALTIES, GROUPINGS)))
@settings(deadline=None, max_examples=15)
@given(taxonomy=graphs(14), seed=st.integers(0, 2**16), below_label=st.sampled_from(["left-out", "merged"]))
def test_hier_cos_equals_a_loop_over_samples_and_levels(
    taxonomy: Taxonomy, seed: int, penalty: str, grouping: str, below_label: str
) -> None:
    z, labels = batch(taxonomy, seed, taxonomy.num_nodes)
    found = HierCOSLoss(taxonomy, 0.3, penalty=penalty, grouping=grouping, below_label=below_label)(z, labels)
    expected = slow_loss(z, labels, taxonomy, penalty, grouping, below_label)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(each, z)[0] for each in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("penalty", "grouping"), list(product(PENALTIES, GROUPINGS)))
@settings(deadline=None, max_examples=10)
@given(taxonomy=taxonomies(14), seed=st.integers(0, 2**16))
def test_on_trees_the_code_for_graphs_equals_the_code_for_trees(
    taxonomy: Taxonomy, seed: int, penalty: str, grouping: str
) -> None:
    z, labels = batch(taxonomy, seed, taxonomy.num_nodes)
    loss = HierCOSLoss(
        taxonomy, 0.3, penalty=penalty, grouping=grouping, below_label="merged" if seed % 2 else "left-out"
    )
    expected = loss(z, labels)
    loss.paths = LabelAncestors(taxonomy)
    torch.testing.assert_close(loss(z, labels), expected, rtol=1e-9, atol=1e-9)
    path_log = PathLogLoss(taxonomy, 0.4)
    logits = z[:, : taxonomy.num_classes].detach()
    expected = path_log(logits, labels)
    path_log.paths = LabelAncestors(taxonomy)
    torch.testing.assert_close(path_log(logits, labels), expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(taxonomy=graphs(), seed=st.integers(0, 2**16), inner=st.sampled_from([0.0, 0.3, 1.0]))
def test_the_log_losses_equal_loops_over_sets(taxonomy: Taxonomy, seed: int, inner: float) -> None:
    logits, labels = batch(taxonomy, seed, taxonomy.num_classes)
    above, below = ancestor_sets(taxonomy), descendant_sets(taxonomy)

    def log(row: Tensor, node: int) -> Tensor:
        return row.softmax(dim=0)[np.isin(taxonomy.leaves, sorted(below[node]))].sum().log()

    cross, path = [], []
    for row, node in zip(logits, nodes_of_labels(labels, taxonomy).tolist(), strict=True):
        cross.append(-log(row, node))
        terms = []
        for level in range(1, taxonomy.height + 1):
            there = [each for each in above[node] if taxonomy.depths[each] == level] or [node]
            terms.append(torch.stack([-log(row, each) for each in there]).mean())
        path.append(inner * sum(terms[:-1], row.new_zeros(())) + terms[-1])
    torch.testing.assert_close(
        CrossEntropyLoss(taxonomy)(logits, labels), torch.stack(cross).mean(), rtol=1e-6, atol=1e-9
    )
    torch.testing.assert_close(
        PathLogLoss(taxonomy, inner)(logits, labels), torch.stack(path).mean(), rtol=1e-6, atol=1e-9
    )
