"""The one place where a model is trained, calibrated, tested and written to a folder."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from hiercos import storage
from hiercos.data import Dataset, completed
from hiercos.decisions import ROWS_AT_ONCE, Posterior, Rule
from hiercos.decisions import rule as named_rule
from hiercos.encoders import LabelledVectors, launched, random_state_kept
from hiercos.methods import METHODS, Model, folds
from hiercos.metrics import AVERAGE_PRECISION, SuiteSums, suite_names, suite_values
from hiercos.model import (
    Classifier,
    ClassScores,
    Memory,
    evaluate_scores,
    ruled_tensors,
    sample_scores,
    stored_calibration,
)
from hiercos.records import MEMBERS, RECORD_FILE, Record, records_json, run_identity
from hiercos.records import RunError as RunError  # noqa: PLC0414 - a public name of the room
from hiercos.taxonomy import Floats
from hiercos.training.calibrate import Calibration, HeldOut, calibrate, class_weights
from hiercos.training.candidates import drawn_candidates
from hiercos.training.checkpoint import Epoch, RunProgress
from hiercos.training.committee.runs import MemberCallback
from hiercos.training.features import AnyFeatures, Features, features_of, taxonomy_summary
from hiercos.training.loop import TrainingCallback, fit
from hiercos.training.run_folder import (
    HELD_OUT,
    SCORES,
    earlier_record,
    finished_record,
    remove_unfinished,
    report_inputs_file,
    rows_for_report,
    scores_file,
    stored_scores,
)
from hiercos.training.settings import Settings

if TYPE_CHECKING:
    from lightning_fabric import Fabric

PACKAGES = ("hiercos", "torch", "numpy", "scikit-learn", "torchmetrics", "lightning-fabric", "safetensors")
CROSS_FITS = 3  # models that calibrate where there is nothing to validate on, each learning from the other parts
FEWEST_OF_PART = 4  # samples of a part; with fewer, nothing is calibrated


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model with all that it answers by."""

    classifier: Classifier  # model with its encoder, temperature, rule and calibration
    records: Mapping[str, Record]  # record of the run by rule name: "none", the model's rule, and others asked for
    progress: RunProgress  # history of the training, and what a solver chose


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
    settings. Test samples are scored once.

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
        RunError: if the folder holds a run and `resume` is False, or a run of other settings, or a memory is wanted of
            samples that are not vectors.
        StorageError: if another process writes to the folder.
    """
    fabric = fabric or launched("cpu")
    if isinstance(data, Dataset):
        data = features_of(completed(data, test=data.purpose == "compare", targets=settings.targets))
    if data.dataset.candidates is not None:
        data = drawn_candidates(_fixed(data), lambda part: _model_of(part, settings, fabric))
    if settings.folds:
        data = without_validation(data, settings)
    images = data.dataset.kind == "images"
    settings = settings.resolved(len(data.dataset.training_rows), trains_backbone=data.fine_tunes, images=images)
    training = Training(fabric, data, settings, folder, tuple(rules), temperature, resume, callback)
    own = nullcontext() if folder is None or not fabric.is_global_zero else storage.folder(folder)
    try:
        with random_state_kept(), own:
            return training.finished() or training.run()
    finally:
        if callback:
            callback.close()


def _fixed(data: AnyFeatures) -> Features:
    """The features, which must not change while candidates are drawn."""
    if isinstance(data, Features):
        return data
    raise RunError("candidates need features that do not change: expected a frozen backbone, texts or vectors")


def _model_of(data: Features, settings: Settings, fabric: Fabric) -> Classifier:
    """A model that weighs candidates against one another."""
    return train(data, replace(settings, memory=0, targets=False, refit=False), fabric=fabric).classifier


@dataclass(frozen=True, eq=False)
class FirstFit:
    """What the validation samples, or cross-fits, tell about a training."""

    model: Model | None = None  # model that learned from the training split; None of cross-fits
    progress: RunProgress | None = None  # history of its training
    # samples that these models have not learned from; None if there are too few samples
    held_out: HeldOut | None = None
    course: int | None = None  # epochs at the constant rate of a training with patience; None for other trainings


@dataclass(frozen=True, eq=False)
class Training:
    """One training; see `train` for the attributes. The lock of the folder is held."""

    fabric: Fabric
    given: AnyFeatures
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

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Settings, data and taxonomy, which must be those of an unfinished run to resume it."""
        return run_identity(self.settings.to_dict(), self.given.summary(), taxonomy_summary(self.given.taxonomy))

    def run(self) -> Trained:
        """Fit, calibrate, fit again on all samples, test, write."""
        features = self.given.for_method(self.settings)
        self._check(features)
        first = self._first_fit(features)
        model, progress, features = self._final_fit(first, features)
        aside = features.samples("calibration")
        calibration = calibrate(
            first.held_out,
            features.taxonomy,
            evidence=model.evidence,
            temperature=self.temperature,
            class_weights=class_weights(self.settings, features.samples("train").labels.numpy(), features.taxonomy),
            set_aside=HeldOut(sample_scores(self.fabric, model, aside), aside.labels) if len(aside) else None,
        )
        if model.evidence is not None:
            model.evidence.factor += calibration.added_factor
        rules = calibration.fitted(self.rules)
        classifier = Classifier(
            model,
            features.model_encoder(model),
            rules[self.rule.name],
            temperature=calibration.temperature,
            class_weights=calibration.class_weights,
            memory=self._memory(features),
            calibration=calibration.chains,
        )
        records = self._tested(classifier, features, calibration, rules, progress, held_out=first.held_out)
        return Trained(classifier, records, progress)

    def _check(self, features: AnyFeatures) -> None:
        """Raise an error for labels that the method cannot learn from, or samples that cannot be remembered."""
        rows, method, memory = features.samples("train"), self.settings.method, self.settings.memory
        METHODS.check_label_sets(method, rows.label_sets)
        METHODS.check_labels(method, rows.labels, features.taxonomy)
        if memory and not isinstance(rows, LabelledVectors):
            raise RunError("a memory needs features that do not change: expected a frozen backbone, texts or vectors")
        if memory and rows.label_sets is not None:
            raise RunError("a memory needs one label of each sample, got several")

    def _first_fit(self, features: AnyFeatures) -> FirstFit:
        """Fit on the training split, or on parts of it, and score what was held out."""
        val = features.samples("val")
        if not len(val):
            return self._cross_fits()
        model = features.model(self.settings)
        progress = self._fit(model, features, "", validate=True)
        return FirstFit(model, progress, HeldOut(sample_scores(self.fabric, model, val), val.labels), model.course)

    @property
    def _parts(self) -> int:
        return self.settings.folds or CROSS_FITS

    def _cross_fits(self) -> FirstFit:
        """Fit on the samples outside each part, and score the part; nothing where samples are too few."""
        dataset = self.given.dataset
        rows = dataset.training_rows
        if len(rows) < self._parts * FEWEST_OF_PART or dataset.label_sets is not None or self.given.fine_tunes:
            return FirstFit()
        masks = folds(dataset.labels[rows], self._parts, self.settings.seed)
        if any(len(np.unique(dataset.labels[rows[~mask]])) < 2 for mask in masks):
            return FirstFit()
        parts, courses = [], []
        for number, mask in enumerate(masks, start=1):
            split = dataset.split.copy()
            split[rows[mask]] = "val"
            features = self.given.with_split(split).for_method(self.settings)
            model = features.model(self.settings)
            name = f"part {number} of {self._parts}"
            self._fit(model, features, name, validate=not METHODS.traits(model.method).solved)
            parts.append(sample_scores(self.fabric, model, features.samples("val")))
            courses.append(model.course)
        known = [course for course in courses if course is not None]
        course = int(np.median(known)) if known else None
        order = np.argsort(np.concatenate([np.flatnonzero(mask) for mask in masks]))
        scores = ClassScores.joined(parts).mapped(lambda table: table[order])
        held_out = HeldOut(scores, torch.from_numpy(dataset.labels[rows]))
        return FirstFit(held_out=held_out, course=course)

    def _final_fit(self, first: FirstFit, features: AnyFeatures) -> tuple[Model, RunProgress, AnyFeatures]:
        """The model that learned from all samples but those of test, its progress, and their features."""
        if first.model is not None and first.progress is not None and not refits(self.given, self.settings):
            return first.model, first.progress, features
        if first.model is not None:
            features = final_features(self.given, self.settings)
        model = features.model(self.settings)
        chosen = first.model if METHODS.traits(model.method).solved else None
        progress = self._fit(model, features, "all samples", chosen=chosen, course=first.course)
        if first.progress is not None:
            progress = replace(first.progress, seconds=first.progress.seconds + progress.seconds)
        return model, progress, features

    def _fit(
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

    def _memory(self, features: AnyFeatures) -> Memory | None:
        """Training samples to remember; None if none are wanted, or possible."""
        rows, wanted = features.samples("train"), self.settings.memory
        if wanted == 0 or not isinstance(rows, LabelledVectors) or rows.label_sets is not None:
            return None
        held, seed = rows.to(torch.device("cpu")), self.settings.seed
        if wanted is None:
            return Memory.small(held.features, held.labels, seed=seed)
        return Memory.choose(held.features, held.labels, wanted, seed=seed)

    def _tested(
        self,
        classifier: Classifier,
        features: AnyFeatures,
        calibration: Calibration,
        rules: Mapping[str, Rule],
        progress: RunProgress,
        *,
        held_out: HeldOut | None,
    ) -> dict[str, Record]:
        """Score the test samples once, and write the folder; the records by rule."""
        if self.folder is None:
            return {}
        model, test = classifier.model, features.samples("test")
        tested = evaluate_scores(self.fabric, model, test, temperature=calibration.temperature)
        own = self._record(features, progress, tested.metrics)
        posterior = calibration.posterior(tested.scores, features.taxonomy)
        ruled = {
            name: ruled_record(own, each, posterior, test.labels, calibration.temperature)
            for name, each in rules.items()
        }
        records = {name: record for name, (record, _) in ruled.items()}
        if calibration.class_weights is None:
            records["none"] = own
        if self.fabric.is_global_zero:
            others: dict[str, str | bytes] = {RECORD_FILE: records_json(records.values())}
            hops = [(rules[name], rows) for name, (_, rows) in ruled.items()]
            others[SCORES] = scores_file(tested.scores, test.labels.numpy(), hops)
            if held_out is not None and len((known := held_out.of_classes(features.taxonomy)).labels):
                if model.evidence is not None:
                    known = known.shifted(calibration.added_factor * model.evidence.constants.cpu().numpy())
                others[HELD_OUT] = scores_file(known.scores, known.labels.numpy())
            inputs = features.dataset.inputs.take(features.dataset.rows("test"))
            others |= report_inputs_file(inputs, rows_for_report(posterior, test.labels.numpy()))
            classifier.save(self.folder, others)
            remove_unfinished(self.folder)
        self.fabric.barrier()  # the other processes may read the folder from here on
        return records

    def _record(self, features: AnyFeatures, progress: RunProgress, metrics: dict[str, float]) -> Record:
        return Record(
            method=self.settings.method,
            uses_tree=METHODS.uses_tree(self.settings.method),
            rule="none",
            seed=self.settings.seed,
            config=self.settings.to_dict(),
            data=self.given.summary(),
            taxonomy=taxonomy_summary(features.taxonomy),
            metrics=metrics,
            history=[_figures(epoch) for epoch in progress.history],
            best_epoch=progress.best_epoch,
            train_seconds=progress.seconds,
            versions=package_versions(),
            environment=environment(self.fabric),
            choice=progress.choice,
            learned={"rows": len(features.dataset.training_rows), "held_out": self._held_out_rows()},
        )

    def _held_out_rows(self) -> str:
        """Where settings, temperature and rule come from, in words."""
        if rows := len(self.given.dataset.rows("val")):
            return f"{rows} validation rows of the model before the last fit"
        return f"{self._parts} cross-fits"

    def finished(self) -> Trained | None:
        """The finished run of these settings that the folder holds; None without one.

        Records of rules that it has not are computed from its scores. A rule that is fitted needs held-out samples,
        from which the final model has learned: then the run is made again.
        """
        if self.folder is None:
            return None
        record = finished_record(self.folder, self.identity, self.rule, resume=self.resume)
        if record is None:
            return None
        if self.fabric.is_global_zero:
            remove_unfinished(self.folder)  # of a process that ended between the last file and this
        found = {
            name: record if name == "none" else earlier_record(record, self.folder, name, self.temperature)
            for name in self.rules
        }
        records = {name: earlier for name, earlier in found.items() if earlier is not None}
        if any(self.rules[name].fitted for name in self.rules.keys() - records.keys()):
            return None
        files = storage.opened(self.folder)
        classifier = Classifier.load(files)
        for name in self.rules.keys() - records.keys():
            records[name] = self._later_record(files, record, self.rules[name])
        history = {"history": record.history, "best_epoch": record.best_epoch, "seconds": record.train_seconds}
        progress = RunProgress.from_dict({**history, "choice": record.choice})
        return Trained(classifier, records, progress)

    def _later_record(self, files: storage.Folder, record: Record, rule: Rule) -> Record:
        """Record of a finished run under one more rule, from its stored scores."""
        scores, labels, _ = stored_scores(files, self.given.taxonomy)
        temperature, weights = stored_calibration(files)
        temperature = temperature if self.temperature is None else self.temperature
        posterior = scores.posterior(self.given.taxonomy, temperature, weights)
        later, _ = ruled_record(record, rule, posterior, labels, temperature)
        if self.fabric.is_global_zero and self.folder is not None:
            later.write(self.folder)
        return later


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

    Those labelled with an inner node do only if the method can learn from them.

    Raises:
        RunError: if a backbone is trained, which is not cross-fitted.
    """
    if settings.folds and features.fine_tunes:
        raise RunError(f"folds {settings.folds}: expected a frozen backbone, texts or vectors")
    data = features.dataset
    learnable = (data.labels < data.taxonomy.num_classes) | METHODS.takes_inner_labels(settings.method)
    return features.with_split(np.where((data.split == "val") & learnable, "train", data.split))


def ruled_record(
    record: Record, rule: Rule, posterior: Posterior, labels: ArrayLike, temperature: float
) -> tuple[Record, Floats]:
    """Record of a run with the metrics of a rule on a posterior: of its ranking, and top-5 of its short list.

    Under a rule the answer at every level is the ancestor of the class ranked first, so full-path accuracy equals
    top-1 accuracy.

    Args:
        record: record of the method's own answers.
        rule: decision rule that ranks the classes.
        posterior: posterior of M test samples.
        labels: label of each test sample, a class index or C + node, shape (M,).
        temperature: temperature of the posterior.

    Returns:
        Record, and HOPS of each test sample, shape (M,), nan for one that is labelled with an inner node.
    """
    taxonomy, true, rows = posterior.taxonomy, torch.as_tensor(labels), [np.empty(0)]
    hops, sums = suite_names(taxonomy).index("hops"), SuiteSums.empty(taxonomy)
    for start, batch in zip(range(0, len(true), ROWS_AT_ONCE), posterior.batches(ROWS_AT_ONCE), strict=True):
        own = true[start : start + len(batch)]
        values = suite_values(labels=own, taxonomy=taxonomy, **ruled_tensors(rule, batch))
        sums = sums.plus(SuiteSums.of(values, own, taxonomy))
        rows.append(values[:, hops].numpy())
    metrics = {name: float(value) for name, value in sums.means(taxonomy).items()}
    metrics |= {name: value for name, value in record.metrics.items() if name == AVERAGE_PRECISION}  # of no rule
    ruled = replace(record, rule=rule.name, fitted_rule=rule.to_dict(), temperature=temperature, metrics=metrics)
    return ruled, np.concatenate(rows)


def _figures(epoch: Epoch) -> dict[str, Any]:
    """Figures of an epoch for a record; average precision only where it was measured."""
    figures = asdict(epoch)
    return {name: value for name, value in figures.items() if name != AVERAGE_PRECISION or not math.isnan(value)}


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def environment(fabric: Fabric) -> dict[str, Any]:
    """Threads, processes, device and libraries of numerical kernels: what can change the last bits of a result."""
    return {
        "threads": torch.get_num_threads(),
        "processes": fabric.world_size,
        "device": str(fabric.device),
        "device_name": platform.machine() if fabric.device.type == "cpu" else torch.cuda.get_device_name(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": bool(torch._C._has_mkldnn),
        "cuda": torch.version.cuda,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }
