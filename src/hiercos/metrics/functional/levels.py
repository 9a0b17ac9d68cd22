"""Metrics of the predictions at each level: accuracy per level, accuracy of the full path, and consistency.

`answers` are either node scores (B, N), a floating-point tensor whose best node of each level is the prediction
(of equal scores, the lower node), or level predictions (B, H), an integer tensor of nodes, -1 for a level without
a prediction.
"""

import torch
from torch import Tensor

from hiercos.metrics.ranking import check_labels, check_not_nan, check_tensor
from hiercos.metrics.tables import rank_tables, row_chunks
from hiercos.taxonomy import Taxonomy, check_tree


def level_predictions(node_scores: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Best node of each level, chosen independently: (B, N) scores -> (B, H) nodes.

    Raises:
        ValueError: for another width than N, or for a NaN score, naming its row.
    """
    check_tree(taxonomy, "metrics of levels")
    check_node_scores(node_scores, taxonomy)
    parts = []
    for rows in row_chunks(*node_scores.shape):
        part = node_scores[rows]
        check_not_nan(part.amax(dim=1), rows.start)
        parts.append(
            torch.stack([_best(part, taxonomy.level(level)) for level in range(1, taxonomy.height + 1)], dim=1)
        )
    return torch.cat(parts)


def _best(node_scores: Tensor, nodes: slice) -> Tensor:
    """Best node of a slice, the lower one of equal scores: (B, N) -> (B,)."""
    columns = node_scores[:, nodes]
    is_best = columns == columns.amax(dim=1, keepdim=True)
    return is_best.byte().argmax(dim=1).add(nodes.start)  # argmax of 0/1: the first 1


def check_node_scores(node_scores: Tensor, taxonomy: Taxonomy) -> None:
    """Raise a ValueError unless there is one score per node."""
    if node_scores.ndim != 2 or node_scores.shape[1] != taxonomy.num_nodes:
        raise ValueError(
            f"expected node scores of shape (B, {taxonomy.num_nodes}), one column per node, "
            f"got {tuple(node_scores.shape)}"
        )


def level_answers(answers: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Level predictions (B, H) from node scores (floating point), or checked level predictions (integers) themselves.

    Raises:
        ValueError: for shapes that do not fit, or a node that is not of its level, naming the row.
    """
    check_tensor("answers", answers)
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
    """Whether the prediction at each level is the label or its ancestor.

    Args:
        answers: node scores (B, N) or level predictions (B, H).
        labels: class index, C + node or, for the root, C + N of each sample, shape (B,).
        taxonomy: the tree.

    Returns:
        Shape (B, H), float64: 1 correct, 0 wrong or without a prediction, nan at levels the label lacks.
    """
    check_tree(taxonomy, "metrics of levels")
    predicted = level_answers(answers, taxonomy)
    check_labels(labels, len(predicted), taxonomy, inner=True)
    truth = rank_tables(taxonomy, predicted.device).paths_of(labels.long())  # (B, H)
    return (predicted == truth).double().masked_fill(truth < 0, torch.nan)


def full_path_accuracy(answers: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Whether the predictions are correct at every level the true class has [park2024].

    Args:
        answers: node scores (B, N) or level predictions (B, H); levels below the true class do not count.
        labels: true class of each sample, shape (B,).
        taxonomy: the tree.

    Returns:
        Shape (B,), bool.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> full_path_accuracy(torch.tensor([[0, 2], [1, 2]]), torch.tensor([0, 0]), t).tolist()
        [True, False]
    """
    check_labels(labels, len(answers), taxonomy)
    return right_on_path(level_accuracy(answers, labels, taxonomy)) == 1


def right_at_level(right: Tensor, level: int) -> Tensor:
    """One level of `level_accuracy`: (B, H) -> (B,)."""
    return right[:, level - 1]


def right_on_path(right: Tensor, level: int | None = None) -> Tensor:
    """1 if `level_accuracy` is not 0 at any level down to `level`, all by default, else 0: (B, H) -> (B,)."""
    return (right[:, :level] != 0).all(dim=1).double()


def tree_inconsistency(answers: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Whether the predictions of a sample do not form a path of the tree; the mean is the TICE of a data set.

    A path starts at level 1, each prediction is a child of the one before, and it may stop at any level. Predictions
    below a leaf are ignored.

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
