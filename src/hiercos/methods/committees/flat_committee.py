"""Several heads of flat cross-entropy, averaged: the gain of a committee without the tree."""

from collections.abc import Sequence

from hiercos.methods.committees.committee import Committee
from hiercos.methods.committees.solver import CommitteeSolver, committee_method
from hiercos.methods.committees.training import FLAT_HEAD
from hiercos.methods.model import Method
from hiercos.options import check_count
from hiercos.taxonomy import Taxonomy

WIDTH = 512  # of the transformation modules


def flat_committee(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    size: int = 5,
    width: int | None = None,
    dropout: float = 0.1,
    members: Sequence[str] | None = None,
    dim: int | None = None,
) -> Method:
    """Several heads of flat cross-entropy, averaged: what a committee buys without the tree.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
        size: number of heads.
        width: width of their transformation modules; None for 512.
        dropout: dropout rate, see `TransformationModule`.
        members: methods of a trained committee, whose solver sets this option.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
    """
    flat = (FLAT_HEAD,) * size
    options = {"width": checked_width(width), "dropout": dropout}
    head = Committee(taxonomy, in_features, members or flat, options, dim=dim)
    return committee_method(head, CommitteeSolver(head, flat))


def checked_width(width: int | None) -> int:
    """The width of wide heads, 512 for None; a ValueError if it is below 1."""
    if width is None:
        return WIDTH
    check_count("width", width)
    return width
