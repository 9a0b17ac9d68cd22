"""The cost of the answers under a cost matrix of the user's."""

import torch
from torch import Tensor

from hiercos.metrics.ranking import rankings
from hiercos.taxonomy import Taxonomy


def expected_cost(scores: Tensor, labels: Tensor, taxonomy: Taxonomy, costs: Tensor) -> Tensor:
    """What each answer costs, costs[label, best class]; its mean estimates the expected cost of the classifier.

    Args:
        scores: higher is better, shape (B, C).
        labels: true classes, shape (B,).
        taxonomy: the tree over the C classes.
        costs: the cost of answering a class (column) where another is true (row), shape (C, C).

    Returns:
        Shape (B,), float64.

    Raises:
        ValueError: for costs of another shape, or where one is NaN, naming its row.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> costs = torch.tensor([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [5.0, 5.0, 0.0]])
        >>> expected_cost(torch.tensor([[0.2, 0.1, 0.7]]), torch.tensor([0]), t, costs).tolist()
        [9.0]
    """
    classes = taxonomy.num_classes
    if costs.shape != (classes, classes):
        raise ValueError(f"expected costs of shape ({classes}, {classes}), got {tuple(costs.shape)}")
    rows = costs.isnan().any(dim=1).nonzero()
    if len(rows):
        raise ValueError(f"row {int(rows[0])} of the costs: a cost is NaN")
    ranked = rankings(scores, labels, taxonomy, 1)
    return torch.cat([costs.to(scores.device)[part.labels, part.order[:, 0]].double() for part in ranked])
