"""The one place where a model is trained, calibrated, tested and written to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hiercos.data import Dataset, completed
from hiercos.encoders import LabelledVectors, launched
from hiercos.methods import METHODS
from hiercos.model import Classifier, Memory, sample_scores
from hiercos.records import RunError
from hiercos.training.calibrate import HeldOut, calibrate, class_weights
from hiercos.training.committee.runs import MemberCallback
from hiercos.training.drawn_labels import drawn_labels
from hiercos.training.features import AnyFeatures, Features, features_of
from hiercos.training.fits import Run, Trained, final_fit, first_fit, opened_run, without_validation
from hiercos.training.learnable import learnable_features
from hiercos.training.loop import TrainingCallback
from hiercos.training.run_records import finished, tested
from hiercos.training.settings import Settings, method_for

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def train(
    data: Dataset | AnyFeatures,
    settings: Settings,
    *,
    fabric: Fabric | None = None,
    folder: Path | None = None,
    rules: Sequence[str] = (),
    temperature: float | None = None,
    resume: bool = False,
    callback: TrainingCallback | None = None,
) -> Trained:
    """Train, calibrate and test one model, and write it to a folder; nothing else trains.

    What a method chooses, the length of its training, the temperature and the rule are found on the validation samples,
    or by cross-fitting where there are none. Then the final model learns from all samples that are not test, with these
    settings. Test samples are scored once. A method that needs classes learns from the samples that have one.

    A folder is written at the end, so an interrupted process leaves a complete model or none.

    Args:
        data: data set, whose split is completed here (see `completed`); or its features, for several trainings on the
            same ones, or for those of a backbone.
        settings: training settings.
        fabric: launched Fabric with the device and precision; one process on the CPU by default.
        folder: folder for the model, its records, scores and log, created if missing; None to write nothing.
        rules: names of further rules to write records for.
        temperature: temperature of the posterior; by default fitted on held-out samples labelled with a class.
        resume: whether to resume an unfinished run of the same settings, or return a finished one.
        callback: progress callback of the training; None for no reports.

    Raises:
        MethodError: if fewer than two classes are left for a method that needs classes.
        RunError: if the folder holds a run and `resume` is False, or a run of other settings, or a memory is wanted of
            samples that are not vectors.
        StorageError: if another process writes to the folder.
    """
    fabric = fabric or launched("cpu")
    if isinstance(data, Dataset):
        data = features_of(completed(data, test=data.purpose == "compare", targets=settings.targets))
    fingerprint = data.dataset.fingerprint
    if data.dataset.label_sets is None and not data.fine_tunes:
        settings = replace(settings, method=method_for(settings.method, data.taxonomy))
    with opened_run(fabric, folder, callback, resume=resume):
        if data.dataset.candidates is not None:
            data = _drawn(data, settings, fabric, callback)
        data = learnable_features(data, settings)
        if settings.folds:
            data = without_validation(data, settings)
        rows, images = len(data.dataset.training_rows), data.dataset.kind == "images"
        several = data.dataset.label_sets is not None
        settings = settings.resolved(rows, trains_backbone=data.fine_tunes, images=images, several=several)
        run = Run(fabric, data, fingerprint, settings, folder, tuple(rules), temperature, resume, callback)
        return finished(run) or _trained(run)


def _drawn(data: AnyFeatures, settings: Settings, fabric: Fabric, callback: TrainingCallback | None) -> Features:
    """The features with one label of each sample, drawn by models of the same settings."""
    if not isinstance(data, Features):
        raise RunError("candidates need features that do not change: expected a frozen backbone, texts or vectors")
    settings = replace(settings, memory=0, targets=False, refit=False)

    def trained(part: Features, name: str) -> Classifier:
        member = None if callback is None else MemberCallback(callback, name)
        return train(part, settings, fabric=fabric, callback=member).classifier

    return drawn_labels(data, trained)


def _trained(run: Run) -> Trained:
    """Fit, calibrate, fit again on all samples, test, write."""
    features = run.given.for_method(run.settings)
    _check(features, run.settings)
    first = first_fit(run, features)  # finds settings, length, and what held-out samples score
    model, progress, features = final_fit(run, first, features)  # learns from all samples but those of test
    aside = features.samples("calibration")
    calibration = calibrate(
        first.held_out,
        features.taxonomy,
        evidence=model.evidence,
        temperature=run.temperature,
        class_weights=class_weights(run.settings, features.samples("train").labels.numpy(), features.taxonomy),
        set_aside=HeldOut(sample_scores(run.fabric, model, aside), aside.labels) if len(aside) else None,
    )
    if model.evidence is not None:
        model.evidence.factor += calibration.added_factor
    rules = calibration.fitted(run.rules)
    classifier = Classifier(
        model,
        features.model_encoder(model),
        rules[run.rule.name],
        temperature=calibration.temperature,
        class_weights=calibration.class_weights,
        memory=_memory(features, run.settings),
        calibration=calibration.chains,
    )
    records = tested(run, classifier, features, calibration, rules=rules, progress=progress)
    return Trained(classifier, records, progress)


def _check(features: AnyFeatures, settings: Settings) -> None:
    """Raise an error for several labels that the method cannot learn from, or samples that cannot be remembered."""
    rows = features.samples("train")
    METHODS.check_label_sets(settings.method, rows.label_sets)
    if settings.memory and not isinstance(rows, LabelledVectors):
        raise RunError("a memory needs features that do not change: expected a frozen backbone, texts or vectors")
    if settings.memory and rows.label_sets is not None:
        raise RunError("a memory needs one label of each sample, got several")


def _memory(features: AnyFeatures, settings: Settings) -> Memory | None:
    """Training samples to remember; None if none are wanted, or possible."""
    rows = features.samples("train")
    if settings.memory == 0 or not settings.keep_inputs:
        return None
    if not isinstance(rows, LabelledVectors) or rows.label_sets is not None:
        return None
    held = rows.to(torch.device("cpu"))
    if settings.memory is None:
        return Memory.small(held.features, held.labels, seed=settings.seed)
    return Memory.choose(held.features, held.labels, settings.memory, seed=settings.seed)
