"""Solver of committees: which samples the members learn from, and by which they are stopped and weighted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.committees.committee import Committee
from hiercos.methods.committees.training import (
    MOST_CROSS_FITTED,
    Candidate,
    CommitteeTraining,
    Part,
    fixed_epochs,
    learnable,
)
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.model import Method
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved, folds

HOLD_OUT_FOLDS = 7  # of which one is held out, if there are no validation samples
ENOUGH_TO_COMPARE_HEADS = 500  # validation samples that are enough to stop and to compare heads by
CROSS_FITS = 3  # folds of a cross-fitting


@dataclass(frozen=True, eq=False)
class CommitteeSolver:
    """Trains members one after the other and fits their weights.

    Attributes:
        head: committee to fill.
        members: methods of the members.
        has_first_share: whether the method has the option `first_share`, see `CommitteeTraining`.
    """

    head: Committee
    members: Sequence[str]
    has_first_share: ClassVar[bool] = False

    def __call__(
        self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int, train_member: MemberTraining
    ) -> Solved:
        """See `Solver`; without validation samples of a class, a seventh of the training samples is held out.

        With few validation samples, these only fit the weights, and a head is the mean of three models. Models of
        `FIXED_EPOCHS` learn from all training samples; any other learns from two thirds of them and is stopped by the
        last third. Members that cannot learn from inner nodes are trained on the samples labelled with a class.
        Held-out samples of a class without training samples are left out: no member can know it.
        """
        val = None if val is None else val.rows(self._is_class(val) & np.isin(val.labels, train.labels))
        if val is not None and not len(val):
            val = None
        parts = self._parts(train, val, seed)
        learned, held_out = parts[0] if val is None else (train, val)
        is_seen = np.isin(held_out.labels, learned.labels)
        weighting_samples = held_out.rows(is_seen) if is_seen.any() else held_out
        training = CommitteeTraining(
            self.head,
            train,
            parts,
            weighting_samples,
            seed=seed,
            train_member=train_member,
            has_first_share=self.has_first_share,
        )
        earlier = list(enumerate(self.head.models())) if self.head.continues else []
        training.total = str(len(earlier))
        continued = [training.continued(member, place) for place, member in earlier]
        return training.pooled(continued or self.candidates(training))

    def again(
        self, train: LabelledFeatures, chosen: "CommitteeSolver", *, seed: int, train_member: MemberTraining
    ) -> None:
        """See `Solver`: every member is solved again, or trained again as long as before, from a seed of its own."""
        head, earlier = self.head, chosen.head
        head.project(train, earlier.projection, seed)
        samples, kept, members = head.views(train), head.models() if head.continues else [], []
        for number, known in enumerate(earlier.models()):
            torch.manual_seed(seed * 1_000 + 900 + number)  # no seed of `CommitteeTraining.trained`
            member = kept[known.place] if kept else head.new_member(known.method, **known.options)
            learned = learnable(samples[member.raw_inputs], member.method, head.taxonomy)
            if member.solver is not None:
                member.solve_again(learned, known, seed=seed, train_member=train_member)
            else:
                name = f"member {number + 1} of {len(earlier.models())} ({member.method}), all samples"
                epochs = fixed_epochs(member.method, len(train))
                train_member(member, learned, None, name=name, epochs=epochs, course=known.course)
            members.append(member)
        head.set_members(members, earlier.weights.numpy(), first_share=earlier.first_share)

    def _parts(self, train: LabelledFeatures, val: LabelledFeatures | None, seed: int) -> list[Part]:
        """Samples to learn from and samples to stop by, of each part."""
        if val is not None and (len(val) >= ENOUGH_TO_COMPARE_HEADS or len(train) > MOST_CROSS_FITTED):
            return [(train, val)]
        masks = folds(train.labels, HOLD_OUT_FOLDS, seed)[:1] if val is None else folds(train.labels, CROSS_FITS, seed)
        return [(train.rows(~mask), train.rows(mask & self._is_class(train))) for mask in masks]

    def _is_class(self, data: LabelledFeatures) -> NDArray[np.bool_]:
        """Mask of the samples labelled with a class, shape (M,)."""
        return data.labels < self.head.taxonomy.num_classes

    def candidates(self, training: CommitteeTraining) -> list[Candidate]:
        """The trained members to choose from."""
        training.total = str(len(self.members))
        return [training.trained(name, place) for place, name in enumerate(self.members)]


def committee_method(head: Committee, solver: CommitteeSolver) -> Method:
    """The method of a committee."""
    return Method(
        head=head,
        loss=CrossEntropyLoss(head.taxonomy),
        class_scores=nn.Identity(),
        node_scores=SummedProbabilities(head.taxonomy),
        solver=solver,
    )
