"""Training of a committee: which samples the members learn from, and by which they are stopped and weighted."""

import math

import numpy as np
import torch
from scipy.sparse import issparse

from hiercos.methods import Committee, LabelledFeatures, Solved, folds
from hiercos.taxonomy import Taxonomy
from hiercos.training.committee.candidates import ENOUGH_TO_COMPARE_HEADS, FEW, LINEAR, candidates, needs_dense
from hiercos.training.committee.members import (
    MOST_CROSS_FITTED,
    PROJECTED,
    CommitteeTraining,
    Part,
    fixed_epochs,
    learnable,
    projected,
    views,
)
from hiercos.training.committee.runs import MemberRuns

HOLD_OUT_FOLDS = 7  # of which one is held out, if there are no validation samples
CROSS_FITS = 3  # folds of a cross-fitting
MOST_SCORES = 1 << 21  # scores of a member that it is weighed by, rows times classes


def fit_committee(head: Committee, train: LabelledFeatures, val: LabelledFeatures | None, runs: MemberRuns) -> Solved:
    """Train members one after the other and fit their weights.

    Without validation samples of a class, a seventh of the training samples is held out. With few validation samples,
    these only fit the weights, and a head is the mean of three models. Models of `FIXED_EPOCHS` learn from all training
    samples; any other learns from two thirds of them and is stopped by the last third. Members that cannot learn from
    inner nodes are trained on the samples labelled with a class. Held-out samples of a class without training samples
    are left out: no member can know it. Few samples of classes without validation have one linear head, chosen by
    cross-validation.

    Args:
        head: committee to fill.
        train: training samples.
        val: validation samples labelled with a class; None for none.
        runs: trainings of the members, with the settings of the run.
    """
    seed, is_class = runs.config.seed, train.labels < head.taxonomy.num_classes
    if val is None and len(train) < FEW and is_class.all() and not (head.continues or head.plan.members):
        return _one_linear_head(head, train, seed)
    val = None if val is None else val.rows(np.isin(val.labels, train.labels)) or None
    parts = _parts(train, val, head.taxonomy, seed)
    learned, held_out = parts[0] if val is None else (train, val)
    is_seen = np.isin(held_out.labels, learned.labels)
    weighting_samples = held_out.rows(is_seen) if is_seen.any() else held_out
    parts_of_most = math.ceil(len(weighting_samples) * head.taxonomy.num_classes / MOST_SCORES)
    if parts_of_most > 1:
        weighting_samples = weighting_samples.rows(folds(weighting_samples.labels, parts_of_most, seed)[0])
    if issparse(train.features) and not head.continues and needs_dense(head, train):
        head.projection = projected(train, PROJECTED, seed)
    training = CommitteeTraining(head, train, parts, weighting_samples, runs)
    earlier = list(enumerate(head.models())) if head.continues else []
    training.total = str(len(earlier))
    continued = [training.continued(member, place) for place, member in earlier]
    return training.pooled(continued or candidates(training))


def fit_committee_again(head: Committee, train: LabelledFeatures, earlier: Committee, runs: MemberRuns) -> None:
    """Solve every member of an earlier committee again, or train it again as long as before, from a seed of its own.

    Args:
        head: committee to fill.
        train: samples to learn from, which may be more than those of the choice, and have other features.
        earlier: committee that has chosen its members and their weights.
        runs: trainings of the members, with the settings of the run.
    """
    seed = runs.config.seed
    if earlier.projection is not None and not head.continues:  # a committee that continues keeps its own
        head.projection = projected(train, earlier.projection.num_features, seed)
    samples, kept, members = views(head, train), head.models() if head.continues else [], []
    for number, known in enumerate(earlier.models()):
        torch.manual_seed(seed * 1_000 + 900 + number)  # no seed of `CommitteeTraining.trained`
        member = kept[known.place] if kept else head.new_member(known.method, **known.options)
        learned = learnable(samples[member.raw_inputs], member.method, head.taxonomy)
        if member.solver is not None:
            member.solve_again(learned, known, seed=seed)
        else:
            name = f"member {number + 1} of {len(earlier.models())} ({member.method}), all samples"
            epochs = fixed_epochs(member.method, len(train))
            runs.train(member, learned, None, name=name, epochs=epochs, course=known.course)
        members.append(member)
    head.set_members(members, earlier.weights.numpy(), first_share=earlier.first_share)


def _one_linear_head(head: Committee, train: LabelledFeatures, seed: int) -> Solved:
    """A committee of one linear head, whose penalty is cross-validated."""
    member = head.new_member(LINEAR)
    solved = member.solve(train, None, seed=seed)
    head.set_members([member], np.ones(1), first_share=0.0)
    return Solved(f"{LINEAR}, {solved.choice}", {"members": [LINEAR], "dim": None, "first_share": 0.0})


def _parts(train: LabelledFeatures, val: LabelledFeatures | None, taxonomy: Taxonomy, seed: int) -> list[Part]:
    """Samples to learn from and samples to stop by, of each part."""
    if val is not None and (len(val) >= ENOUGH_TO_COMPARE_HEADS or len(train) > MOST_CROSS_FITTED):
        return [(train, val)]
    count = HOLD_OUT_FOLDS if val is None else CROSS_FITS
    masks = folds(train.labels, count, seed, train.groups)[: 1 if val is None else None]
    is_class = train.labels < taxonomy.num_classes
    return [(train.rows(~mask), train.rows(mask & is_class)) for mask in masks]
