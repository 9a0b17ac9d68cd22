"""Training by a method's own solver, or of a committee: weights from all features and labels at once."""

from __future__ import annotations

import math
import time

from torch import Tensor

from hiercos.encoders import LabelledSamples, LabelledVectors
from hiercos.methods import Committee, LabelledFeatures, Model
from hiercos.training.checkpoint import Epoch, RunProgress
from hiercos.training.committee.fit import fit_committee, fit_committee_again
from hiercos.training.committee.runs import MemberRuns
from hiercos.training.loop import UNKNOWN, TrainingError, check_weights, validate


def solve(
    model: Model,
    train: LabelledSamples,
    val: LabelledSamples | None,
    runs: MemberRuns,
    *,
    weights: Tensor | None = None,
    chosen: Model | None = None,
) -> RunProgress:
    """Train by the method's solver, or train the members of a committee; the history has one entry.

    Args:
        model: new model on the CPU.
        train: M training samples.
        val: validation samples; None for none.
        runs: trainings of members, with the settings of the run.
        weights: weight of each training sample, shape (M,); equal weights by default.
        chosen: model whose settings, members and weights of members are used again; None to choose them.
    """
    if not isinstance(train, LabelledVectors) or not isinstance(val, LabelledVectors | None):
        raise TrainingError(f"method {model.method!r} needs fixed features: freeze the backbone or take another method")
    start, choice = time.perf_counter(), ""
    learned = labelled_features(train, weights)
    if chosen is not None:
        _solve_again(model, learned, chosen, runs)
    else:
        choice = _choose(model, learned, None if val is None else labelled_features(val), runs)
    check_weights(model, 1)
    metrics = UNKNOWN if val is None or model.searches else validate(runs.fabric, model, val)
    seconds = runs.earlier_seconds + time.perf_counter() - start
    only = Epoch(1, math.nan, metrics["top1"], metrics["hops"], seconds, metrics["log_loss"])
    return RunProgress([only], 1, seconds, choice)


def _choose(model: Model, train: LabelledFeatures, val: LabelledFeatures | None, runs: MemberRuns) -> str:
    """Find settings and weights; the choice in words."""
    held_out = None if val is None else val.known(model.taxonomy)
    if not isinstance(model.head, Committee):
        return model.solve(train, held_out, seed=runs.config.seed).choice
    solved = fit_committee(model.head, train.with_usual_weights(), held_out, runs)
    model.options |= solved.options
    return solved.choice


def _solve_again(model: Model, train: LabelledFeatures, chosen: Model, runs: MemberRuns) -> None:
    """Find the weights with the settings of a chosen model of the same method."""
    if isinstance(model.head, Committee) and isinstance(chosen.head, Committee):
        fit_committee_again(model.head, train.with_usual_weights(), chosen.head, runs)
        model.options |= chosen.options
    else:
        model.solve_again(train, chosen, seed=runs.config.seed)


def labelled_features(samples: LabelledVectors, weights: Tensor | None = None) -> LabelledFeatures:
    """Samples as arrays, with their weights, shape (M,)."""
    features = samples.features
    array = features.cpu().numpy() if isinstance(features, Tensor) else features
    sets = None if samples.label_sets is None else samples.label_sets.cpu().numpy()
    own = None if weights is None else weights.numpy()
    return LabelledFeatures(array, samples.labels.cpu().numpy(), own, sets, samples.groups)
