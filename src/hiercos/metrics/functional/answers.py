"""Metrics of answers that are nodes of any depth, the root included."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hiercos.taxonomy import IntArray, Taxonomy, ancestor_matrix, classes_below

ANSWER_METRICS = (
    *("containment", "precision", "hierarchical_precision", "hierarchical_recall", "hierarchical_f1"),
    *("edge_distance", "overshoot", "coverage", "depth", "answered"),
)


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
        mine, true = (_paths(nodes, taxonomy) for nodes in (answers, labels))  # (B, H), -1 beyond the node
        return ((mine == true) & (mine >= 0)).sum(dim=1), (mine >= 0).sum(dim=1), (true >= 0).sum(dim=1)
    above = ancestor_matrix(taxonomy)
    mine, true = (_rows(above, nodes.cpu().numpy()) for nodes in (answers, labels))  # (B, N), sparse
    sizes = (np.asarray(part.sum(axis=1)).reshape(-1) for part in (mine.multiply(true), mine, true))
    common, length, true_length = (torch.from_numpy(size).to(answers.device) for size in sizes)
    return common, length, true_length


def _rows(matrix: Any, nodes: IntArray) -> Any:
    """Rows of a sparse matrix (N, N) for nodes (B,), those of the root empty."""
    return matrix[nodes.clip(min=0)].multiply((nodes >= 0)[:, None]).tocsr()


def _paths(nodes: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Path of each node, shape (B, H), -1 beyond its depth; all -1 for the root."""
    known = nodes.cpu().numpy()
    table = torch.from_numpy(taxonomy.path_table(known.clip(min=0)))
    return torch.where(torch.from_numpy(known >= 0)[:, None], table, -1).to(nodes.device)


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
