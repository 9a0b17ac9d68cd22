"""The classes of each sample as a rule ranks them, with the answer itself never waiting for the whole order."""

import torch
from torch import Tensor

from hiercos.decisions import RULES, crm_scores, hops_order_scores
from hiercos.engine import ROWS_AT_ONCE
from hiercos.errors import row_name
from hiercos.taxonomy import IntArray, Taxonomy


def log_probabilities(scores: Tensor, temperature: float) -> Tensor:
    """Log of softmax(scores / temperature), shape (B, C), float64.

    Raises:
        ValueError: naming the first row with a value that is not a number.
    """
    logs = (scores.double() / temperature).log_softmax(dim=1)
    if (bad := logs.isnan().any(dim=1)).any():
        raise ValueError(f"X: {row_name(int(bad.nonzero()[0]))}: a score is not a number")
    return logs


def answer_scores(logs: Tensor, rule: str, taxonomy: Taxonomy) -> Tensor:
    """Scores whose highest is the class ranked first, at the cost of one pass through the tree at most.

    Under `hops` that is the likeliest class, as under `none`: the whole order costs milliseconds a sample, and what
    stands first in it is nearly always the same.

    Args:
        logs: log-probabilities of the classes, shape (B, C).
        rule: a name of `RULES`.
        taxonomy: the tree.

    Returns:
        Shape (B, C).
    """
    RULES[rule]  # an unknown one is an error
    return crm_scores(logs.exp(), taxonomy) if rule == "crm" else logs


def ranking_scores(logs: Tensor, likeliest: IntArray, rule: str, taxonomy: Taxonomy) -> Tensor:
    """Scores whose descending order is that of the rule, the class of `answer_scores` first.

    Under `hops` the log-probabilities of a sample are dealt out again in the order of the rule, so that they still say
    how sure the answer is; on a tree of one level nothing changes.

    Args:
        logs: log-probabilities of the classes, shape (B, C).
        likeliest: the class that `hops` keeps first, one of those with the highest probability, shape (B,).
        rule: a name of `RULES`.
        taxonomy: the tree.

    Returns:
        Shape (B, C), no two of a sample the same under `hops`.
    """
    if rule != "hops" or taxonomy.height == 1:
        return answer_scores(logs, rule, taxonomy)
    rows = zip(torch.split(logs, ROWS_AT_ONCE), torch.split(torch.tensor(likeliest), ROWS_AT_ONCE), strict=True)
    parts = [_dealt_out(some, first, taxonomy) for some, first in rows]
    return torch.cat([logs[:0], *parts])


def _dealt_out(logs: Tensor, first: Tensor, taxonomy: Taxonomy) -> Tensor:
    places = hops_order_scores(logs.exp(), taxonomy)
    places[torch.arange(len(logs)), first] = torch.inf
    order = places.sort(dim=1, descending=True).indices
    values = _strictly_falling(logs.sort(dim=1, descending=True).values)
    return torch.empty_like(values).scatter_(1, order, values)


def _strictly_falling(values: Tensor) -> Tensor:
    """Falling values with those that are equal made smaller by as little as possible, column by column."""
    columns = list(values.unbind(dim=1))
    below = torch.tensor(-torch.inf, dtype=values.dtype)
    for place in range(1, len(columns)):
        columns[place] = columns[place].minimum(columns[place - 1].nextafter(below))
    return torch.stack(columns, dim=1)
