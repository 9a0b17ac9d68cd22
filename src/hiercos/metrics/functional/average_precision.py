"""Average precision of node scores, for samples with one or several labels."""

import torch
from torch import Tensor

from hiercos.taxonomy import Taxonomy, nodes_of_labels, set_targets

ROWS_AT_ONCE = 1024  # samples whose pairs are marked at a time


def average_precision(node_scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Area under the precision-recall curve of all pairs of a sample and a node, AU(PRC): micro-averaged.

    A pair is right if the node is at or above a label of the sample. Pairs of equal score are one step of the curve,
    and the area is the sum of precision times gain in recall over the steps. Nodes strictly below a label at an inner
    node, and samples without labels, are left out.

    Args:
        node_scores: node scores, higher is likelier, comparable between nodes and samples, shape (B, N); those of
            C-HMCNN and node probabilities are coherent: none is above that of a node above it.
        labels: class indices, C + node or, for the root, C + N, shape (B,); or nodes of up to K labels of each sample,
            -1 for none, shape (B, K).
        taxonomy: the tree or graph.

    Returns:
        Scalar from 0 to 1, float64; nan if no pair is right.

    Raises:
        ValueError: for scores of another shape, or NaN.

    Example:
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> scores = torch.tensor([[0.9, 0.3, 0.2, 0.8, 0.1]])  # dog before cat
        >>> round(float(average_precision(scores, torch.tensor([0]), t)), 4)  # 1/2 of 1/1 + 1/2 of 2/4
        0.75
    """
    if node_scores.shape != (len(labels), taxonomy.num_nodes):
        raise ValueError(
            f"expected node scores of shape ({len(labels)}, {taxonomy.num_nodes}), got {tuple(node_scores.shape)}"
        )
    if bool(node_scores.isnan().any()):
        raise ValueError("expected node scores that are numbers, got NaN")
    scores, right = _known_pairs(node_scores, labels, taxonomy)
    scores, order = scores.sort(descending=True)
    hits = right[order].double().cumsum(dim=0)
    last = torch.ones_like(scores, dtype=torch.bool)  # last pair of each step
    last[:-1] = scores[:-1] != scores[1:]
    places = last.nonzero()[:, 0]
    hits = hits[places]
    gains = hits.diff(prepend=hits.new_zeros(1))
    return (gains * hits / (places + 1)).sum() / hits[-1:].sum()


def _known_pairs(node_scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> tuple[Tensor, Tensor]:
    """Scores of the pairs that count, and whether they are right, shape (P,) each."""
    given = labels.cpu().numpy()
    sets = nodes_of_labels(given, taxonomy)[:, None] if given.ndim == 1 else given  # (B, K)
    scores, right = [node_scores.new_empty(0)], [torch.empty(0, dtype=torch.bool, device=node_scores.device)]
    for start in range(0, len(sets), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        is_right, is_known = (
            torch.from_numpy(each).to(node_scores.device) for each in set_targets(sets[rows], taxonomy)
        )
        scores.append(node_scores[rows][is_known])
        right.append(is_right[is_known])
    return torch.cat(scores), torch.cat(right)
