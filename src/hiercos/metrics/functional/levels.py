"""Metrics of an answer at each level: right at a level, right at all, and whether the answers form a path.

An answer is given either as node scores (B, N), a floating-point tensor, whose best node of each level is taken
(equal scores: the lower node), or as level predictions (B, H), an integer tensor of nodes, -1 where a level is
not answered.
"""

import torch
from torch import Tensor

from hiercos.metrics.ranking import check_labels, refuse_nan
from hiercos.metrics.tables import rank_tables, row_parts
from hiercos.taxonomy import Taxonomy


def level_predictions(node_scores: Tensor, taxonomy: Taxonomy) -> Tensor:
    """The best node of each level, chosen by itself: (B, N) scores -> (B, H) nodes.

    Raises:
        ValueError: for another width than N, or a NaN score, naming its row.
    """
    check_node_scores(node_scores, taxonomy)
    parts = []
    for rows in row_parts(*node_scores.shape):
        part = node_scores[rows]
        refuse_nan(part.amax(dim=1), rows.start)
        parts.append(
            torch.stack([_best(part, taxonomy.level(level)) for level in range(1, taxonomy.height + 1)], dim=1)
        )
    return torch.cat(parts)


def _best(node_scores: Tensor, nodes: slice) -> Tensor:
    """The best of some neighbouring nodes, the lower one of equals: (B, N) -> (B,)."""
    columns = node_scores[:, nodes]
    is_best = columns == columns.amax(dim=1, keepdim=True)
    return is_best.byte().argmax(dim=1).add(nodes.start)  # argmax of 0/1: the first 1


def check_node_scores(node_scores: Tensor, taxonomy: Taxonomy) -> None:
    """Refuse scores that are not one per node."""
    if node_scores.ndim != 2 or node_scores.shape[1] != taxonomy.num_nodes:
        raise ValueError(
            f"expected node scores of shape (B, {taxonomy.num_nodes}), one column per node, "
            f"got {tuple(node_scores.shape)}"
        )


def level_answers(answers: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Level predictions (B, H) from node scores (floating point) or from themselves (integers, checked).

    Raises:
        ValueError: for shapes that do not fit, or a node that is not of its level, naming the row.
    """
    if answers.is_floating_point():
        return level_predictions(answers, taxonomy)
    if answers.ndim != 2 or answers.shape[1] != taxonomy.height:
        raise ValueError(
            f"expected level predictions of shape (B, {taxonomy.height}), one node per level, or node scores of a "
            f"floating-point type, got {tuple(answers.shape)} of {answers.dtype}"
        )
    starts = torch.tensor(taxonomy.level_starts, device=answers.device)
    fits = (answers == -1) | ((answers >= starts[:-1]) & (answers < starts[1:]))
    wrong = (~fits).nonzero()
    if len(wrong):
        row, level = wrong[0].tolist()
        raise ValueError(f"row {row}: {int(answers[row, level])} is not a node of level {level + 1}, nor -1")
    return answers.long()


def level_accuracy(answers: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Whether the answer at each level is the true class's ancestor (or itself) there.

    Args:
        answers: node scores (B, N) or level predictions (B, H).
        labels: true classes, shape (B,).
        taxonomy: the tree.

    Returns:
        Shape (B, H), float64: 1 right, 0 wrong or not answered, nan at levels the true class does not have.
    """
    predicted = level_answers(answers, taxonomy)
    check_labels(labels, len(predicted), taxonomy)
    truth = rank_tables(taxonomy, predicted.device).paths[labels.long()]  # (B, H)
    return (predicted == truth).double().masked_fill(truth < 0, torch.nan)


def full_path_accuracy(answers: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Whether the answers are right at every level the true class has [park2024].

    Args:
        answers: node scores (B, N) or level predictions (B, H); answers below the true class's depth do not count.
        labels: true classes, shape (B,).
        taxonomy: the tree.

    Returns:
        Shape (B,), bool.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> full_path_accuracy(torch.tensor([[0, 2], [1, 2]]), torch.tensor([0, 0]), t).tolist()
        [True, False]
    """
    return right_on_path(level_accuracy(answers, labels, taxonomy)) == 1


def right_at_level(right: Tensor, level: int) -> Tensor:
    """One level of `level_accuracy`: (B, H) -> (B,)."""
    return right[:, level - 1]


def right_on_path(right: Tensor, level: int | None = None) -> Tensor:
    """1 where `level_accuracy` is right at every level down to one, all by default, else 0: (B, H) -> (B,)."""
    return (right[:, :level] != 0).all(dim=1).double()


def tree_inconsistency(answers: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Whether the answers of a sample are no path of the tree (its mean is the TICE of a data set).

    A path begins at level 1, each answer is a child of the one before, and it may stop anywhere. Answers below
    a leaf are ignored: there is nothing they could be.

    Args:
        answers: node scores (B, N) or level predictions (B, H).
        taxonomy: the tree.

    Returns:
        Shape (B,), bool; True is inconsistent.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> tree_inconsistency(torch.tensor([[0, 2], [1, 2], [1, -1]]), t).tolist()
        [False, True, False]
    """
    predicted = level_answers(answers, taxonomy)
    parents = torch.tensor(taxonomy.parents, device=predicted.device)
    is_leaf = torch.tensor(taxonomy.child_counts == 0, device=predicted.device)
    above = torch.full_like(predicted[:, 0], -1)
    finished = torch.zeros_like(above, dtype=torch.bool)
    broken = torch.zeros_like(finished)
    for level, answer in enumerate(predicted.unbind(1)):
        answered = (answer >= 0) & ~finished
        below_gap = (above < 0) & (level > 0)
        broken |= answered & (below_gap | (parents[answer] != above))
        finished |= answered & is_leaf[answer]
        above = answer
    return broken
