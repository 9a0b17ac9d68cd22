"""Metrics of answers: at each level (accuracy, full path, consistency), and as nodes of any depth.

At each level, `answers` are either node scores (B, N), a floating-point tensor whose best node of each level is the
prediction (of equal scores, the lower node), or level predictions (B, H), an integer tensor of nodes, -1 for a level
without a prediction. At any depth they are nodes (B,), -1 for the root.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hiercos.metrics.input_checks import check_labels, check_node_scores, check_not_nan, check_tensor
from hiercos.metrics.rank_tables import rank_tables, row_chunks
from hiercos.taxonomy import IntArray, Taxonomy, ancestor_matrix, check_tree, classes_below

__all__ = [
    "ANSWER_METRICS",
    "answer_values",
    "full_path_accuracy",
    "level_accuracy",
    "level_predictions",
    "tree_inconsistency",
]

ANSWER_METRICS = (
    *("containment", "precision", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1"),
    *("edge_distance", "overshoot", "coverage", "depth", "answered"),
)


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

    It says how deep an answer can be trusted; level 1 of a tree with two kingdoms is easy.

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

    For methods that choose each level independently: the gap to top-1 is the cost of their inconsistency. Levels
    derived from the class make it equal to top-1.

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
    return (level_accuracy(answers, labels, taxonomy) != 0).all(dim=1)


def tree_inconsistency(answers: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Whether the predictions of a sample do not form a path of the tree; the mean is the TICE of a data set.

    A path starts at level 1, each prediction is a child of the one before, and it may stop at any level. Predictions
    below a leaf are ignored.

    Beside full-path accuracy: always the same path is perfectly consistent, right or wrong.

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


def answer_values(answers: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """All metrics of answers at any depth, one row for each sample.

    The columns are `ANSWER_METRICS`. With A and B the paths of the answer and of the label (in a graph, their sets of
    ancestors, themselves included), the root counted in both:
    containment, whether the answer is the label or above it; precision, the same, nan where the answer is the root;
    hierarchical precision |A and B| / |A|, recall |A and B| / |B| and F1; edge distance |A or B| - |A and B|;
    overshoot |A| - |A and B|; coverage 1 - log(classes below the answer) / log C, 1 for a class and 0 for the root;
    depth of the answer, |A| - 1; and whether it is not the root.

    Args:
        answers: node of each answer, shape (B,), -1 for the root.
        labels: true node of each sample, shape (B,), -1 for the root.
        taxonomy: the tree or graph over the C classes.

    Returns:
        Shape (B, 10), float64; nan for a sample labelled with the root, about which nothing is known.

    Raises:
        ValueError: for shapes that differ, or numbers that are not nodes.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> answer_values(torch.tensor([0, 2]), torch.tensor([2, 3]), t)[:, :4].tolist()  # pet for cat, cat for dog
        [[1.0, 1.0, 1.0, 0.6666666666666666], [0.0, 0.0, 0.6666666666666666, 0.6666666666666666]]
    """
    _check(answers, labels, taxonomy)
    common, length, true_length = (count.double() + 1 for count in _set_sizes(answers, labels, taxonomy))
    contained = (common == length).double()
    answered = (answers >= 0).double()
    columns = (
        contained,
        torch.where(answers >= 0, contained, torch.nan),
        common / length,
        common / true_length,
        2 * common / (length + true_length),
        length + true_length - 2 * common,
        length - common,
        _coverage(answers, taxonomy),
        length - 1,
        answered,
    )
    return torch.stack(columns, dim=1).masked_fill((labels < 0)[:, None], torch.nan)


def _set_sizes(answers: Tensor, labels: Tensor, taxonomy: Taxonomy) -> tuple[Tensor, Tensor, Tensor]:
    """Sizes without the root of A and B, of A and of B: the ancestors of answers and labels; shape (B,) each."""
    if taxonomy.is_tree:
        tables = (taxonomy.path_table(nodes.cpu().numpy()) for nodes in (answers, labels))
        mine, true = (torch.from_numpy(table).to(answers.device) for table in tables)  # (B, H), -1 beyond the node
        return ((mine == true) & (mine >= 0)).sum(dim=1), (mine >= 0).sum(dim=1), (true >= 0).sum(dim=1)
    above = ancestor_matrix(taxonomy)
    mine, true = (_rows(above, nodes.cpu().numpy()) for nodes in (answers, labels))  # (B, N), sparse
    sizes = (np.asarray(part.sum(axis=1)).reshape(-1) for part in (mine.multiply(true), mine, true))
    common, length, true_length = (torch.from_numpy(size).to(answers.device) for size in sizes)
    return common, length, true_length


def _rows(matrix: Any, nodes: IntArray) -> Any:
    """Rows of a sparse matrix (N, N) for nodes (B,), those of the root empty."""
    return matrix[nodes.clip(min=0)].multiply((nodes >= 0)[:, None]).tocsr()


def _coverage(answers: Tensor, taxonomy: Taxonomy) -> Tensor:
    if taxonomy.num_classes == 1:
        return (answers >= 0).double()
    below = torch.from_numpy(classes_below(taxonomy)).to(answers.device)
    counts = torch.where(answers >= 0, below[answers.clamp(min=0)], taxonomy.num_classes)
    return 1 - counts.double().log() / math.log(taxonomy.num_classes)


def _check(answers: Tensor, labels: Tensor, taxonomy: Taxonomy) -> None:
    if answers.ndim != 1 or answers.shape != labels.shape:
        raise ValueError(
            f"expected as many answers as labels, shape (B,), got {tuple(answers.shape)} and {tuple(labels.shape)}"
        )
    for name, nodes in (("answer", answers), ("label", labels)):
        wrong = ((nodes < -1) | (nodes >= taxonomy.num_nodes)).nonzero()
        if len(wrong):
            row = int(wrong[0])
            raise ValueError(
                f"row {row}: expected a node from -1 to {taxonomy.num_nodes - 1} as {name}, got {int(nodes[row])}"
            )
