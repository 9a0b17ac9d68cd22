"""The order of the classes with the highest expected HOPS, as scores."""

import torch
from torch import Tensor

from hiercos.decisions.best_order import MOST_EXACT, best_order_scores
from hiercos.decisions.crm import crm_scores
from hiercos.taxonomy import Taxonomy


def hops_order_scores(probabilities: Tensor, taxonomy: Taxonomy, *, exact_up_to: int = MOST_EXACT) -> Tensor:
    """Scores whose descending order maximises the expected published HOPS.

    The expectation is over the true class, drawn from the probabilities, and of HOPS before its clip at 0: an
    order that the clip would lift to 0 for an improbable label still counts as below 0 for it.

    Note:
        With more classes than `exact_up_to` it is an approximation: labels are looked at in order of
        probability until all but 0.001 is there, 64 at most, and the order of `crm_scores` is improved by
        assignments of 64 to 256 positions each. For the labels looked at it is never worse than that order.

    Args:
        probabilities: of the classes, shape (B, C), each row of sum 1.
        taxonomy: the tree.
        exact_up_to: the most classes for which one assignment over all positions is solved.

    Returns:
        Scores, shape (B, C), float32: C for the first class of the order down to 1 for the last. Where classes are
        interchangeable, the one with the higher `crm_scores` comes first, then the lower index.

    Raises:
        ValueError: for another shape, or a probability that is not a number.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> hops_order_scores(torch.tensor([[0.5, 0.1, 0.4]]), t)  # the dog before the car, though less likely
        tensor([[3., 2., 1.]])
    """
    risks = crm_scores(probabilities, taxonomy)
    values, starts = (tensor.detach().double().cpu().numpy() for tensor in (probabilities, risks))
    scores = best_order_scores(values, starts, taxonomy, exact_up_to=exact_up_to)
    return torch.from_numpy(scores).to(probabilities.device)
