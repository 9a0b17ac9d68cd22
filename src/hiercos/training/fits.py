"""One run of `train`: what it was asked for, its first fit or cross-fits, and the fit of the final model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hiercos import storage
from hiercos.decisions import Rule, check_order
from hiercos.decisions import rule as named_rule
from hiercos.encoders import random_state_kept
from hiercos.methods import MANY_CLASSES, METHODS, Model, folds
from hiercos.model import Classifier, ClassScores, sample_scores
from hiercos.records import MEMBERS, Record, RunError, run_identity
from hiercos.training.calibrate import HeldOut
from hiercos.training.checkpoint import RunProgress
from hiercos.training.committee.runs import MemberCallback
from hiercos.training.features import AnyFeatures, taxonomy_summary
from hiercos.training.loop import TrainingCallback, fit
from hiercos.training.run_folder import refuse_run
from hiercos.training.settings import Settings

if TYPE_CHECKING:
    from lightning_fabric import Fabric

CROSS_FITS = 3  # models that calibrate where there is nothing to validate on, unless `folds` says how many
FEWEST_OF_PART = 4  # samples of a part; with fewer, nothing is calibrated


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model with all that it answers by."""

    classifier: Classifier  # model with its encoder, temperature, rule and calibration
    records: Mapping[str, Record]  # record of the run by rule name: "none", the model's rule, and others asked for
    progress: RunProgress  # history of the training, and what a solver chose


@contextmanager
def opened_run(
    fabric: Fabric, folder: Path | None, callback: TrainingCallback | None, *, resume: bool
) -> Iterator[None]:
    """Hold the lock of the folder of a run, which has none yet unless it is resumed; close the callback at the end."""
    with ExitStack() as stack:
        if callback:
            stack.callback(callback.close)
        stack.enter_context(random_state_kept())
        if folder is not None and fabric.is_global_zero:
            stack.enter_context(storage.folder(folder))
        if folder is not None and not resume:
            refuse_run(folder)
        yield


@dataclass(frozen=True, eq=False)
class Run:
    """What a training was asked for; see `train`."""

    fabric: Fabric
    given: AnyFeatures  # features that the method can learn from
    fingerprint: str  # that of the data set as it was given
    settings: Settings
    folder: Path | None
    reported: tuple[str, ...]
    temperature: float | None
    resume: bool
    callback: TrainingCallback | None

    @cached_property
    def rule(self) -> Rule:
        """The rule of the model, not fitted."""
        return named_rule(self.settings.rule or "none")

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """The rules to measure by name, not fitted: "none", that of the model, and those asked for."""
        return {"none": named_rule("none"), self.rule.name: self.rule} | {
            name: named_rule(name) for name in self.reported
        }

    @property
    def parts(self) -> int:
        """Number of parts of a cross-fitting."""
        return self.settings.folds or CROSS_FITS

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Summary of the features for a record, by which the data set that was given is known again."""
        return {**self.given.summary(), "fingerprint": self.fingerprint}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Settings, data and taxonomy, which must be those of an unfinished run to resume it."""
        return run_identity(self.settings.to_dict(), self.summary, taxonomy_summary(self.given.taxonomy))

    def fit(
        self,
        model: Model,
        features: AnyFeatures,
        name: str,
        *,
        validate: bool = False,
        chosen: Model | None = None,
        course: int | None = None,
    ) -> RunProgress:
        """Train a model on the training split; its checkpoints are in a folder of their own, but for the first fit."""
        if model.searches:  # before hours of training, at whose end the rules are measured
            for rule in self.rules.values():
                check_order(rule, model.taxonomy)
        folder, identity = self.folder, {} if self.folder is None else self.identity
        if folder is not None and name:
            folder, identity = folder / MEMBERS / name.replace(" ", "-"), {**identity, "part": name}
            folder.mkdir(parents=True, exist_ok=True)
        return fit(
            self.fabric,
            model,
            features.training_samples(self.settings),
            features.samples("val") if validate else None,
            self.settings,
            weights=features.weights(features.dataset.training_rows),
            chosen=chosen,
            course=course,
            folder=folder,
            identity=identity,
            resume=self.resume,
            callback=None if self.callback is None else MemberCallback(self.callback, name),
        )


@dataclass(frozen=True, eq=False)
class FirstFit:
    """What the validation samples, or cross-fits, tell about a training."""

    model: Model | None = None  # model that learned from the training split; None of cross-fits
    progress: RunProgress | None = None  # history of its training
    # samples that these models have not learned from; None if there are too few samples
    held_out: HeldOut | None = None
    course: int | None = None  # epochs at the constant rate of a training with patience; None for other trainings


def first_fit(run: Run, features: AnyFeatures) -> FirstFit:
    """Fit on the training split and score the validation samples; without any, see `cross_fits`."""
    val = features.samples("val")
    if not len(val):
        return cross_fits(run)
    model = features.model(run.settings)
    progress = run.fit(model, features, "", validate=True)
    sets = None if val.label_sets is None else val.label_sets.numpy()
    scores = sample_scores(run.fabric, model, val, marginals=sets is not None)
    return FirstFit(model, progress, HeldOut(scores, val.labels, sets), model.course)


def cross_fits(run: Run) -> FirstFit:
    """Fit on the samples outside each part, and score the part; nothing where samples are too few, or classes many."""
    dataset = run.given.dataset
    rows = dataset.training_rows
    too_many = dataset.taxonomy.num_classes >= MANY_CLASSES
    if len(rows) < run.parts * FEWEST_OF_PART or dataset.label_sets is not None or run.given.fine_tunes or too_many:
        return FirstFit()
    groups = None if dataset.groups is None else dataset.groups[rows]
    masks = folds(dataset.labels[rows], run.parts, run.settings.seed, groups)
    if any(len(np.unique(dataset.labels[rows[~mask]])) < 2 for mask in masks):
        return FirstFit()
    solved = METHODS.traits(run.settings.method).solved
    parts, courses = [], []
    for number, mask in enumerate(masks, start=1):
        split = dataset.split.copy()
        split[rows[mask]] = "val"
        features = run.given.with_split(split).for_method(run.settings)
        model = features.model(run.settings)
        run.fit(model, features, f"part {number} of {run.parts}", validate=not solved)
        parts.append(sample_scores(run.fabric, model, features.samples("val")))
        courses.append(model.course)
    known = [course for course in courses if course is not None]
    course = int(np.median(known)) if known else None
    order = np.argsort(np.concatenate([np.flatnonzero(mask) for mask in masks]))
    scores = ClassScores.joined(parts).rows(order)
    return FirstFit(held_out=HeldOut(scores, torch.from_numpy(dataset.labels[rows])), course=course)


def final_fit(run: Run, first: FirstFit, features: AnyFeatures) -> tuple[Model, RunProgress, AnyFeatures]:
    """The model that learned from all samples but those of test, its progress, and their features."""
    if first.model is not None and first.progress is not None and not refits(run.given, run.settings):
        return first.model, first.progress, features
    if first.model is not None:
        features = final_features(run.given, run.settings)
    model = features.model(run.settings)
    chosen = first.model if METHODS.traits(model.method).solved else None
    progress = run.fit(model, features, "all samples", chosen=chosen, course=first.course)
    if first.progress is not None:
        progress = replace(first.progress, seconds=first.progress.seconds + progress.seconds)
    return model, progress, features


def refits(features: AnyFeatures, settings: Settings) -> bool:
    """Whether the final model is another one than the first, and learns from the validation samples, too."""
    return not features.fine_tunes if settings.refit == "auto" else settings.refit


def final_features(features: AnyFeatures, settings: Settings) -> AnyFeatures:
    """Features of the final model of a training: if it refits, validation samples belong to the training split."""
    if len(features.samples("val")) and refits(features, settings):
        features = without_validation(features, settings)
    return features.for_method(settings)


def without_validation(features: AnyFeatures, settings: Settings) -> AnyFeatures:
    """Features whose validation samples belong to the training split.

    Raises:
        RunError: for a cross-fitting of a trained backbone.
    """
    if settings.folds and features.fine_tunes:
        raise RunError(f"folds {settings.folds}: expected a frozen backbone, texts or vectors")
    split = features.dataset.split
    return features.with_split(np.where(split == "val", "train", split))
