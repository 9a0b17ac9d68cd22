"""Committees: several methods on the same features, their scores added with weights fitted on held-out samples."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hiercos.checks import check_count
from hiercos.losses import CrossEntropyLoss
from hiercos.methods.contributions import Comparison
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.layers import Projection
from hiercos.methods.model import Method, Model
from hiercos.methods.table import METHODS
from hiercos.taxonomy import Floats, Taxonomy

Effort = Literal["quick", "normal", "best"]
FLAT_HEAD = "cross-entropy-mlp"
LINEAR = "tree-logistic"
WIDTH = 512  # of the transformation modules
DROPOUTS = (0.1, 0.5)


@dataclass(frozen=True)
class Plan:
    """Members that the training of a committee tries."""

    # methods that are all trained and kept; none (the default) to choose members that suit the data
    members: tuple[str, ...] = ()
    effort: Effort = "normal"  # effort of that choice, see `committee`
    dropouts: Sequence[float] = DROPOUTS  # dropout rates of wide heads to choose from


class Committee(nn.Module):
    """The weighted sum of the logits of several models, with a share of the first one alone if asked for.

    Args:
        taxonomy: the tree.
        in_features: width F of the inputs.
        members: name of each model's method.
        plan: members that the training tries.
        options: options for the methods that have them, such as a width.
        dim: width of a projection for the models that need dense inputs; None if the inputs are dense.
        first_share: share of each probability that comes from the first model alone, from 0 (none) to less than 1. It
            bounds the loss where the others are sure and wrong.

    Shape:
        inputs: (B, F), dense or sparse CSR. Output: class logits, shape (B, C); with a share, log-probabilities.

    Raises:
        ValueError: if `first_share` is out of its range.
    """

    weights: Tensor  # (number of members,)

    def __init__(
        self,
        taxonomy: Taxonomy,
        in_features: int,
        members: Sequence[str],
        plan: Plan,
        options: Mapping[str, Any],
        *,
        dim: int | None = None,
        first_share: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0 <= first_share < 1:
            raise ValueError(f"expected a first_share from 0 to less than 1, got {first_share}")
        self.plan, self.first_share = plan, first_share
        self.taxonomy, self.in_features, self.options = taxonomy, in_features, dict(options)
        self.projection = None if dim is None else Projection(torch.zeros(in_features, dim), persistent=True)
        self.members = nn.ModuleList(self.new_member(name) for name in members)
        self.continues = False  # whether the members are those of an earlier committee, see `continue_from`
        self.register_buffer("weights", torch.full((len(members),), 1 / max(len(members), 1)))

    def new_member(self, method: str, **options: Any) -> Model:
        """An untrained model; its method takes raw inputs, or dense features."""
        known = METHODS.options(method)
        given = {name: value for name, value in {**self.options, **options}.items() if name in known}
        chosen = {**METHODS.row(method).recommended, **given}
        dense = self.in_features if self.projection is None else self.projection.num_features
        width = self.in_features if METHODS.traits(method).raw_inputs else dense
        return Model(self.taxonomy, width, method, chosen)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        dense = inputs if self.projection is None else self.projection(inputs)
        scores = [model.logits(model(inputs if model.raw_inputs else dense)) for model in self.models()]
        pooled = torch.einsum("kbc,k->bc", torch.stack(scores), self.weights)
        return mixture_log_probabilities(pooled, scores[0], self.first_share) if self.first_share else pooled

    def contributions(self, given: Comparison) -> Tensor | None:
        """See `Contributions`: to the weighted sum of the scores, of the members that have them."""
        parts = [
            found * weight
            for model, weight in zip(self.models(), self.weights, strict=True)
            if (model.raw_inputs or self.projection is None) and (found := model.contributions(given)) is not None
        ]
        return sum(parts[1:], parts[0]) if parts else None

    def models(self) -> list[Model]:
        """The members."""
        return [member for member in self.members if isinstance(member, Model)]

    def set_members(self, members: Sequence[Model], weights: Floats, *, first_share: float) -> None:
        """Replace the members, their weights, and the share of the first one."""
        self.members, self.first_share = nn.ModuleList(members), first_share
        self.weights = torch.as_tensor(weights, dtype=torch.float32)

    def continue_from(self, members: Sequence[Model], projection: Projection | None) -> None:
        """Start from members of an earlier committee: the solver trains these and weighs them anew.

        Args:
            members: members over the taxonomy of this committee; those with a solver are solved again, see
                `Model.keep_weights`.
            projection: projection of sparse inputs that the members are trained on; None for dense inputs.
        """
        self.members, self.projection, self.continues = nn.ModuleList(members), projection, True


def mixture_log_probabilities(pooled: Tensor, first: Tensor, share: float) -> Tensor:
    """Logarithms of `(1 - share) softmax(pooled) + share softmax(first)`.

    Args:
        pooled: finite logits of a committee, shape (B, C).
        first: finite logits of its first model, shape (B, C).
        share: weight of the first model, above 0 and below 1.

    Returns:
        Log-probabilities, shape (B, C).
    """
    of_all = F.log_softmax(pooled, dim=1) + math.log1p(-share)
    of_first = F.log_softmax(first, dim=1) + math.log(share)
    return torch.maximum(of_all, of_first) + F.softplus(-(of_all - of_first).abs())  # ONNX has no stable logaddexp


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
        members: methods of a trained committee, whose training sets this option.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
    """
    plan = Plan((FLAT_HEAD,) * size)
    options = {"width": checked_width(width), "dropout": dropout}
    return committee_method(Committee(taxonomy, in_features, members or plan.members, plan, options, dim=dim))


def committee(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    effort: Effort = "normal",
    width: int | None = None,
    dropouts: Sequence[float] = DROPOUTS,
    members: Sequence[str] | None = None,
    dim: int | None = None,
    first_share: float = 0.0,
) -> Method:
    """A committee of linear and wide heads, with and without the tree, weighted by held-out log-loss.

    Args:
        taxonomy: the tree.
        in_features: width F of the input features.
        effort: "quick" for linear heads alone, "normal" for wide heads beside them while they help on held-out samples,
            "best" for two of each wide head.
        width: width of the transformation modules of wide heads; None for 512.
        dropouts: dropout rates of wide heads to choose from.
        members: methods of a trained committee, whose training sets this option.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
        first_share: share of the linear head alone in the probabilities of a trained committee, set by its training.
    """
    options = {"width": checked_width(width)}
    plan = Plan(effort=effort, dropouts=dropouts)
    return committee_method(
        Committee(taxonomy, in_features, members or (LINEAR,), plan, options, dim=dim, first_share=first_share)
    )


def checked_width(width: int | None) -> int:
    """The width of wide heads, 512 for None; a ValueError if it is below 1."""
    if width is None:
        return WIDTH
    check_count("width", width)
    return width


def committee_method(head: Committee) -> Method:
    """The method of a committee, whose members are trained by `hiercos.training`."""
    loss, node_scores = CrossEntropyLoss(head.taxonomy), SummedProbabilities(head.taxonomy)
    return Method(head, loss, nn.Identity(), node_scores, contributions=head.contributions)
