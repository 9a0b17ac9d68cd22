"""Checks of the inputs of metrics: scores, labels, and their shapes and types."""

from torch import Tensor

from hiercos.taxonomy import Taxonomy, check_is_taxonomy


def check_scores_and_labels(scores: Tensor, labels: Tensor, taxonomy: Taxonomy) -> None:
    """Raise a ValueError unless scores and labels fit each other and the taxonomy; a TypeError for other types."""
    check_is_taxonomy(taxonomy)
    check_tensor("scores", scores)
    if scores.ndim != 2 or scores.shape[1] != taxonomy.num_classes:
        raise ValueError(
            f"expected scores of shape (B, {taxonomy.num_classes}), one column per class, got {tuple(scores.shape)}; "
            "a class that was not scored has a column of -inf"
        )
    check_labels(labels, len(scores), taxonomy)


def check_tensor(name: str, values: object) -> None:
    """Raise a TypeError for values that are not a torch tensor, such as a NumPy array or a list.

    Example:
        >>> check_tensor("labels", [0, 1])
        Traceback (most recent call last):
        TypeError: labels: expected a torch tensor, got list; torch.as_tensor(labels) turns numbers into one
    """
    if not isinstance(values, Tensor):
        kind = type(values).__name__
        raise TypeError(f"{name}: expected a torch tensor, got {kind}; torch.as_tensor({name}) turns numbers into one")


def check_labels(labels: Tensor, count: int, taxonomy: Taxonomy, *, inner: bool = False) -> None:
    """Raise a ValueError unless there is one label per sample: a class or, if `inner`, any node or the root."""
    check_tensor("labels", labels)
    if labels.shape != (count,):
        raise ValueError(f"expected {count} labels, one per row of scores, got shape {tuple(labels.shape)}")
    if labels.is_floating_point() or labels.is_complex():
        raise ValueError(f"expected labels of an integer type, got {labels.dtype}")
    end = taxonomy.num_classes + (taxonomy.num_nodes + 1 if inner else 0)
    wrong = ((labels < 0) | (labels >= end)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(_label_fault(row, int(labels[row]), taxonomy, inner=inner))


def _label_fault(row: int, label: int, taxonomy: Taxonomy, *, inner: bool) -> str:
    classes, nodes = taxonomy.num_classes, taxonomy.num_nodes
    if inner:
        return f"row {row}: expected a class from 0 to {classes - 1} or a node up to {classes + nodes}, got {label}"
    if classes <= label < classes + nodes:
        name = taxonomy.path_text(label - classes)
        return f"row {row}: label {label} is the node {name!r}; this metric needs a class, 0 to {classes - 1}"
    return f"row {row}: expected a class from 0 to {classes - 1}, got label {label}"


def is_class_label(labels: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Mask of the samples labelled with a class, shape (B,); metrics of a ranking leave out the others.

    Args:
        labels: class indices, C + node, or C + N for the root, shape (B,).
    """
    check_labels(labels, len(labels), taxonomy, inner=True)
    return labels < taxonomy.num_classes


def check_not_nan(best: Tensor, start: int = 0) -> None:
    """Raise a ValueError if the best score of a row is NaN; sorting and selection put NaN first."""
    rows = best.isnan().nonzero()
    if len(rows):
        raise ValueError(f"row {start + int(rows[0])}: a score is NaN")


def check_node_scores(node_scores: Tensor, taxonomy: Taxonomy) -> None:
    """Raise a ValueError unless there is one score per node."""
    if node_scores.ndim != 2 or node_scores.shape[1] != taxonomy.num_nodes:
        raise ValueError(
            f"expected node scores of shape (B, {taxonomy.num_nodes}), one column per node, "
            f"got {tuple(node_scores.shape)}"
        )
