from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from geometry.published import NAMES, PublishedRun
from geometry.spans import normal
from hiercos import Taxonomy
from hiercos.losses import HierCOSLoss
from hiercos.losses.hier_cos import path_targets
from hiercos.taxonomy import label_indices, nodes_of_labels
from trees import TOY, TOY17, ancestor_sets, random_tree, taxonomies

DIRECTIONS = ("leaf", "uniform", "root")
PENALTIES = ("published", "printed", "scale-free")
GROUPINGS = ("published", "sample")
LEVEL_WEIGHT = {
    "leaf": lambda depth, level: torch.tensor(1 / (depth + 1 - level), dtype=torch.float64).exp(),
    "uniform": lambda depth, level: torch.tensor(1.0, dtype=torch.float64),
    "root": lambda depth, level: torch.tensor(1 / level, dtype=torch.float64).exp(),
}


def kept_nodes(node: int, taxonomy: Taxonomy) -> list[int]:
    """The nodes that are not strictly below a node."""
    return [other for other, above in enumerate(ancestor_sets(taxonomy)) if other == node or node not in above]


def slow_kl(z: Tensor, path: tuple[int, ...], taxonomy: Taxonomy, exponent: float, direction: str) -> Tensor:
    """KL(P | softmax |z|) of one sample among the nodes that are not strictly below the label, times their share.

    P is that of the deepest class at or below the label.
    """
    depth = max(level for level in range(1, taxonomy.height + 1) if has_level(path[-1], level, taxonomy))
    weights = torch.stack([LEVEL_WEIGHT[direction](depth, level) ** exponent for level in range(1, depth + 1)])
    known = weights[: len(path)]
    target, share = known / known.sum(), known.sum() / weights.sum()
    predicted = z.abs().exp() / z.abs().exp()[kept_nodes(path[-1], taxonomy)].sum()
    terms = (p * (p / predicted[node]).log() for p, node in zip(target, path, strict=True))
    return share * sum(terms, z.new_zeros(()))


def has_level(node: int, level: int, taxonomy: Taxonomy) -> bool:
    """Whether a node or a node below it is at or below a level."""
    below = {node} | (set(range(taxonomy.num_nodes)) - set(kept_nodes(node, taxonomy)))
    return max(len(taxonomy.path(each)) for each in below) >= level


def slow_penalties(z: Tensor, path: tuple[int, ...], taxonomy: Taxonomy, penalty: str) -> list[Tensor]:
    """The penalty of one sample at each level, level 1 first."""
    kept, terms = kept_nodes(path[-1], taxonomy), []
    for level in range(1, taxonomy.height + 1):
        columns = [node for node in range(taxonomy.num_nodes) if len(taxonomy.path(node)) == level]
        own = z[columns] if penalty == "printed" else z[columns].abs()
        unit = own / own.square().sum().sqrt()
        term = z.new_zeros(())
        if level <= len(path):
            one_hot = torch.zeros_like(own)
            one_hot[columns.index(path[level - 1])] = 1
            term = term + (one_hot - unit).abs().sum()
            if penalty == "printed" and level == len(path):
                term = term + unit.abs().sum()
        elif has_level(path[-1], level, taxonomy):
            term = term + sum((unit[columns.index(node)].abs() for node in columns if node in kept), z.new_zeros(()))
        elif penalty == "printed":
            term = term + unit.abs().sum()
        else:
            term = term + own.sum() / (z.square().sum().sqrt() if penalty == "scale-free" else 1)
        terms.append(term)
    return terms


def slow_loss(
    z: Tensor,
    labels: Tensor,
    taxonomy: Taxonomy,
    *,
    alpha: float,
    exponent: float,
    direction: str,
    penalty: str,
    grouping: str,
) -> Tensor:
    """The loss as a loop over samples and levels, straight from the formulas."""
    paths = [taxonomy.path(int(node)) for node in nodes_of_labels(labels, taxonomy)]
    rows = list(zip(z, paths, strict=True))
    kl = torch.stack([slow_kl(row, path, taxonomy, exponent, direction) for row, path in rows]).mean()
    terms = [slow_penalties(row, path, taxonomy, penalty) for row, path in rows]
    if grouping == "sample":
        return kl + alpha * torch.stack([sum(row, z.new_zeros(())) for row in terms]).mean()
    regulariser = z.new_zeros(())
    for level in range(1, taxonomy.height + 1):
        for present in (True, False):
            group = [
                row[level - 1]
                for row, path in zip(terms, paths, strict=True)
                if has_level(path[-1], level, taxonomy) == present
            ]
            if group:
                regulariser = regulariser + torch.stack(group).mean()
    return kl + alpha * regulariser


def batch(taxonomy: Taxonomy, count: int, seed: int, *, inner: bool = False) -> tuple[Tensor, Tensor]:
    """Random embeddings (count, N) that take gradients, and random labels (count,), classes or any nodes."""
    generator = torch.Generator().manual_seed(seed)
    most = taxonomy.num_classes + (taxonomy.num_nodes if inner else 0)
    labels = torch.randint(0, most, (count,), generator=generator)
    return normal(count, taxonomy.num_nodes, seed=seed).mul(2).requires_grad_(), labels


def value_and_gradient(loss: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    return loss.detach(), torch.autograd.grad(loss, z)[0]


@pytest.mark.parametrize(("penalty", "grouping"), list(product(PENALTIES, GROUPINGS)))
@settings(deadline=None, max_examples=12)
@given(
    taxonomy=taxonomies(16),
    seed=st.integers(0, 2**16),
    direction=st.sampled_from(DIRECTIONS),
    exponent=st.sampled_from([1.0, 2.0, 0.5]),
    inner=st.booleans(),
)
def test_value_and_gradient_equal_a_loop_over_samples_and_levels(
    taxonomy: Taxonomy, seed: int, direction: str, exponent: float, penalty: str, grouping: str, inner: bool
) -> None:
    z, labels = batch(taxonomy, 4, seed, inner=inner)
    options = {"exponent": exponent, "direction": direction, "penalty": penalty, "grouping": grouping}
    loss = HierCOSLoss(taxonomy, 0.3, **options)
    value, gradient = value_and_gradient(loss(z, labels), z)
    slow = slow_loss(z, labels, taxonomy, alpha=0.3, **options)
    expected, expected_gradient = value_and_gradient(slow, z)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-7, atol=1e-10)


def slow_merged_kl(z: Tensor, node: int, taxonomy: Taxonomy, exponent: float, direction: str) -> Tensor:
    """The divergence after the nodes strictly below a node are replaced by one, from tables of both distributions."""
    path, kept = taxonomy.path(node), kept_nodes(node, taxonomy)
    depth = max(len(taxonomy.path(each)) for each in range(taxonomy.num_nodes) if node in taxonomy.path(each))
    weights = torch.stack([LEVEL_WEIGHT[direction](depth, level) ** exponent for level in range(1, depth + 1)])
    target = weights / weights.sum()
    predicted = z.abs().softmax(dim=0)
    of_path = [(target[level], predicted[each]) for level, each in enumerate(path)]
    below = (target[len(path) :].sum(), 1 - predicted[kept].sum())
    return sum((p * (p / q).log() for p, q in [*of_path, *[below] * (depth > len(path))]), z.new_zeros(()))


@settings(deadline=None, max_examples=25)
@given(
    taxonomy=taxonomies(16),
    seed=st.integers(0, 2**16),
    direction=st.sampled_from(DIRECTIONS),
    exponent=st.sampled_from([1.0, 2.0]),
)
def test_merged_nodes_below_an_inner_label_are_one_outcome(
    taxonomy: Taxonomy, seed: int, direction: str, exponent: float
) -> None:
    z, labels = batch(taxonomy, 4, seed, inner=True)
    loss = HierCOSLoss(taxonomy, 0, exponent=exponent, direction=direction, below_label="merged")
    value, gradient = value_and_gradient(loss(z, labels), z)
    nodes = nodes_of_labels(labels, taxonomy).tolist()
    slow = [slow_merged_kl(row, node, taxonomy, exponent, direction) for row, node in zip(z, nodes, strict=True)]
    expected, expected_gradient = value_and_gradient(torch.stack(slow).mean(), z)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-7, atol=1e-10)


@settings(deadline=None, max_examples=25)
@given(taxonomy=taxonomies(), seed=st.integers(0, 2**16))
def test_the_merged_divergence_is_at_most_that_of_a_deepest_class_and_equal_for_classes(
    taxonomy: Taxonomy, seed: int
) -> None:
    z, labels = batch(taxonomy, 1, seed, inner=True)
    (node,) = nodes_of_labels(labels, taxonomy)
    leaves = [leaf for leaf in taxonomy.leaves if node in taxonomy.path(int(leaf))]
    deepest = max(leaves, key=lambda leaf: len(taxonomy.path(int(leaf))))
    merged, of_class = HierCOSLoss(taxonomy, 0, below_label="merged"), torch.tensor(label_indices([deepest], taxonomy))
    assert merged(z, labels) <= merged(z, of_class) + 1e-9
    classes = torch.arange(taxonomy.num_classes)
    many = normal(taxonomy.num_classes, taxonomy.num_nodes, seed=seed)
    assert torch.equal(merged(many, classes), HierCOSLoss(taxonomy, 0)(many, classes))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("alpha", "key"), [(0.0, "kl"), (1.0, "kl_plus_reg")])
def test_value_and_gradient_equal_those_of_the_published_code(name: str, alpha: float, key: str) -> None:
    run = PublishedRun(name)
    z = run.by_node("x").requires_grad_()
    value, gradient = value_and_gradient(HierCOSLoss(run.taxonomy, alpha)(z, run.labels), z)
    torch.testing.assert_close(value.double(), run.value(key), rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient, run.by_node(f"grad_{key}"), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("exponent", "shares"),
    [
        (2.0, [0.1616, 0.2255, 0.6129]),
        (2.0, [0.0982, 0.1085, 0.1282, 0.1789, 0.4863]),
        (2.0, [0.0743, 0.0779, 0.0832, 0.0920, 0.1087, 0.1517, 0.4123]),
        (1.0, [0.2422, 0.2861, 0.4717]),
        (1.0, [0.1477, 0.1553, 0.1688, 0.1994, 0.3288]),
        (1.0, [0.1088, 0.1114, 0.1152, 0.1211, 0.1316, 0.1555, 0.2564]),
    ],
)
def test_targets_are_the_published_shares(exponent: float, shares: list[float]) -> None:
    depths, present = torch.tensor([len(shares)]), torch.arange(8)[None] < len(shares)
    target = path_targets(depths, present, exponent=exponent, direction="leaf", dtype=torch.float64)
    assert target[0, : len(shares)].tolist() == pytest.approx(shares, abs=5.1e-5)
    assert target[0, len(shares) :].tolist() == [0.0] * (8 - len(shares))


def test_the_published_loss_of_a_vector_worked_by_hand() -> None:
    z = torch.tensor([[1.0, 0.0, 0.0, 0.0, -1.0]], dtype=torch.float64)  # pet, vehicle, cat, dog, car
    target = torch.tensor([1.0, 2.0], dtype=torch.float64).softmax(dim=0)  # exponents 2 / 2 and 2 / 1
    log_sum = torch.tensor([1.0, 0, 0, 0, 1], dtype=torch.float64).logsumexp(dim=0)
    kl = (target * target.log()).sum() - target[0] + log_sum  # |z| is 1 on pet and 0 on cat
    torch.testing.assert_close(HierCOSLoss(TOY, 0.0)(z, torch.tensor([0])), kl)
    penalty = 0 + 2  # level 1 is on pet alone; level 2 is on car alone, one off cat and one on car
    torch.testing.assert_close(HierCOSLoss(TOY, 0.5)(z, torch.tensor([0])), kl + 0.5 * penalty)


def test_as_printed_is_the_plain_weights_with_the_signed_penalty_of_each_sample() -> None:
    z, labels = batch(TOY17, 5, seed=11)
    options = {"exponent": 1.0, "direction": "leaf", "penalty": "printed", "grouping": "sample"}
    expected = slow_loss(z, labels, TOY17, alpha=0.1, **options)
    torch.testing.assert_close(HierCOSLoss.as_printed(TOY17, 0.1)(z, labels), expected)


@pytest.mark.parametrize(("penalty", "grouping"), list(product(PENALTIES, GROUPINGS)))
def test_levels_without_energy_give_finite_values_and_gradients(penalty: str, grouping: str) -> None:
    z = torch.zeros(3, TOY17.num_nodes)
    z[1, TOY17.level(2)] = 1.0
    z[2, 0] = 1.0
    z.requires_grad_()
    loss = HierCOSLoss(TOY17, 1.0, penalty=penalty, grouping=grouping)
    value, gradient = value_and_gradient(loss(z, torch.tensor([0, 5, 9])), z)
    assert value.isfinite()
    assert gradient.isfinite().all()


def test_parts_of_a_batch_need_not_average_to_the_whole_in_published_grouping() -> None:
    z, _ = batch(TOY17, 4, seed=0)
    labels = torch.tensor([0, 0, 0, 9])  # depths 1, 1, 1, 4
    loss = HierCOSLoss(TOY17, 1.0)
    parts = torch.stack([loss(z[rows], labels[rows]) for rows in torch.arange(4).split(2)])
    assert (parts.mean() - loss(z, labels)).abs() > 0.1


@pytest.mark.parametrize(
    "taxonomy",
    [
        random_tree(4, 400),
        Taxonomy.from_edges(
            [(f"inner{n}", f"leaf{n}") for n in range(150)] + [(f"inner{n}", f"inner{n + 1}") for n in range(149)]
        ),
    ],
)
def test_no_table_is_larger_than_the_tree(taxonomy: Taxonomy) -> None:
    loss = HierCOSLoss(taxonomy)
    tensors = [*loss.buffers(), *(value for value in vars(loss).values() if isinstance(value, Tensor))]
    assert max(tensor.numel() for tensor in tensors) <= taxonomy.num_nodes
    assert taxonomy.num_classes > 100


def test_nothing_of_the_loss_is_saved_with_a_model() -> None:
    assert HierCOSLoss(TOY).state_dict() == {}


def test_half_precision_embeddings_are_measured_in_single_precision() -> None:
    z, labels = batch(TOY17, 6, seed=7)
    half = z.detach().bfloat16()
    value = HierCOSLoss(TOY17)(half, labels)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, HierCOSLoss(TOY17)(half.float(), labels))


def test_an_empty_batch_has_no_mean() -> None:
    loss = HierCOSLoss(TOY, 0.0)
    assert loss(torch.zeros(0, 5), torch.zeros(0, dtype=torch.int64)).isnan()


@pytest.mark.parametrize(
    ("z", "labels", "weights", "message"),
    [
        ((2, 4), (2,), None, r"expected embeddings of shape \(B, 5\), got \(2, 4\)"),
        ((2, 5), (1,), None, r"expected labels of shape \(2,\), one for each embedding, got \(1,\)"),
        ((2, 5), (2,), (2, 1), r"expected weights of shape \(2,\), one for each embedding, got \(2, 1\)"),
    ],
)
def test_tensors_of_another_shape_are_refused(z, labels, weights, message: str) -> None:
    weight = None if weights is None else torch.ones(weights)
    with pytest.raises(ValueError, match=message):
        HierCOSLoss(TOY)(torch.zeros(z), torch.zeros(labels, dtype=torch.int64), weight)


@pytest.mark.parametrize("label", [-1, 8])
def test_a_label_that_is_no_node_is_refused(label: int) -> None:
    with pytest.raises(IndexError):
        HierCOSLoss(TOY)(torch.ones(1, 5), torch.tensor([label]))


@pytest.mark.parametrize("option", ["direction", "penalty", "grouping"])
def test_an_unknown_choice_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"expected {option} to be one of .*, got 'sideways'"):
        HierCOSLoss(TOY, **{option: "sideways"})


def test_a_negative_alpha_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected an alpha of at least 0, got -0\.1"):
        HierCOSLoss(TOY, alpha=-0.1)
