"""A training run: train and test a model, and write the model, scores, log and records to a folder."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from hiercos.data import Inputs
from hiercos.decisions import (
    ROWS_AT_ONCE,
    HeldOutChains,
    Likeliest,
    Posterior,
    PosteriorError,
    Rule,
    fit_temperature,
    held_out_chains,
    prior_weights,
)
from hiercos.decisions import rule as named_rule
from hiercos.engine.batches import LabelledSamples, LabelledVectors
from hiercos.engine.config import ConfigError, TrainConfig
from hiercos.engine.encoders import Encoder
from hiercos.engine.memory import Memory
from hiercos.engine.model_folder import StoredModel, load_model, save_model, stored_calibration
from hiercos.engine.run_data import taxonomy_summary
from hiercos.engine.run_folder import (
    SCORES,
    earlier_record,
    finished_record,
    remove_unfinished,
    report_inputs_file,
    rows_for_report,
    scores_file,
    stored_scores,
)
from hiercos.engine.run_state import Epoch, RunProgress
from hiercos.engine.scoring import class_scores, evaluate_scores, ruled_tensors
from hiercos.engine.training import TrainingCallback, fit
from hiercos.locks import locked_folder
from hiercos.manifest import Manifest
from hiercos.methods import METHODS, Model
from hiercos.metric_table import AVERAGE_PRECISION
from hiercos.metrics import SuiteSums, suite_names, suite_values
from hiercos.records import Record, record_file, run_identity
from hiercos.records import RunError as RunError  # noqa: PLC0414 - a public name of the engine
from hiercos.taxonomy import Floats, IntArray, Taxonomy, nodes_of_labels

if TYPE_CHECKING:
    from lightning_fabric import Fabric

PACKAGES = ("hiercos", "torch", "numpy", "scikit-learn", "torchmetrics", "lightning-fabric", "safetensors")


class RunData(Protocol):
    """Data of a run: vectors, or raw inputs for a model that contains its backbone."""

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the data."""

    def for_method(self, method: str) -> RunData:
        """The data in the form that a method takes, such as dense features of sparse vectors."""

    def samples(self, split: str) -> LabelledSamples:
        """Samples of "train", "val", "calibration" or "test", without augmentation; see `Dataset.run_rows`."""

    def training_samples(self, config: TrainConfig) -> LabelledSamples:
        """Samples of "train" with the augmentation of the config."""

    def model(self, config: TrainConfig) -> Model:
        """A new model for these samples, whose weights depend on the seed alone."""

    def inputs(self, split: str) -> Inputs:
        """Raw inputs of "train", "val" or "test", in the order of its samples."""

    def encoder(self, model: Model) -> Encoder | None:
        """Encoder of raw inputs for a trained model; None for vectors."""

    def summary(self) -> dict[str, Any]:
        """Name, source, fingerprint and sizes, for a record."""


def train_run(
    fabric: Fabric,
    data: RunData,
    config: TrainConfig,
    folder: Path,
    *,
    rule: Rule | None = None,
    reported: Sequence[str] = (),
    temperature: float | None = None,
    memory: int = 0,
    resume: bool = False,
    callback: TrainingCallback | None = None,
) -> dict[str, Record]:
    """Train one model, test it once, and write a model folder with its records.

    Validation and test are scored once, and the temperature is fitted, before the folder is written. Its manifest is
    written last, so an interrupted process leaves a complete model or none.

    Args:
        fabric: launched Fabric with the device and precision.
        data: features and labels in three splits.
        config: training settings.
        folder: folder for all results; created if missing.
        rule: decision rule of the model; the class with the highest score by default.
        reported: names of further rules to write records for.
        temperature: temperature of the posterior; by default fitted on the validation samples labelled with a class.
        memory: number of training samples of each label that the model folder keeps, as features; 0 for none.
        resume: whether to resume an unfinished run of the same settings, or return the records of a finished one.
        callback: progress callback of the training; None for no reports.

    Returns:
        Records by rule name: "none", the model's rule, and the reported ones.

    Raises:
        RunError: if the folder holds a run and `resume` is False, or a run of other settings, or a memory is wanted of
            samples that are not vectors.
        LockError: if another process writes to the folder.
    """
    with locked_folder(folder) if fabric.is_global_zero else nullcontext():
        return _train_run(
            fabric,
            data,
            config,
            folder,
            rule=rule or Likeliest(),
            reported=reported,
            temperature=temperature,
            memory=memory,
            resume=resume,
            callback=callback,
        )


def _train_run(
    fabric: Fabric,
    data: RunData,
    config: TrainConfig,
    folder: Path,
    *,
    rule: Rule,
    reported: Sequence[str],
    temperature: float | None,
    memory: int,
    resume: bool,
    callback: TrainingCallback | None,
) -> dict[str, Record]:
    """`train_run` in a folder whose lock is held."""
    rules = {"none": Likeliest(), rule.name: rule, **{name: named_rule(name) for name in reported}}
    identity = run_identity(config.to_dict(), data.summary(), taxonomy_summary(data.taxonomy))
    if finished := finished_record(folder, identity, rule, resume=resume):
        if fabric.is_global_zero:
            remove_unfinished(folder)  # of a process that ended between the manifest and this
        return _earlier_records(fabric, data, finished, folder, rules, temperature=temperature)
    data = data.for_method(config.method)
    train, val, test = data.training_samples(config), data.samples("val"), data.samples("test")
    _check_training(train, config.method, data.taxonomy, memory)
    model = data.model(config)
    progress = fit(
        fabric, model, train, val, config, folder=folder, identity=identity, resume=resume, callback=callback
    )
    val_scores = class_scores(fabric, model, val)
    known = val.labels < data.taxonomy.num_classes  # held-out samples whose class is known
    if temperature is None:
        temperature = fit_temperature(val_scores[known], val.labels[known]) if known.any() else 1.0
    weights = class_weights(config, train.labels.numpy(), data.taxonomy)
    calibration: dict[str, Any] = {"temperature": temperature, "class_weights": weights}
    held_out = Posterior.from_scores(val_scores[known], data.taxonomy, **calibration)
    chains = _calibration_chains(fabric, model, data, calibration)
    rules = _fitted(rules, held_out, val.labels[known], chains)
    tested = evaluate_scores(fabric, model, test, temperature=temperature)
    own = _record(fabric, data, config, progress, tested.metrics)
    posterior = Posterior.from_scores(tested.scores, data.taxonomy, **calibration)
    ruled = {name: ruled_record(own, each, posterior, test.labels, temperature) for name, each in rules.items()}
    records = {name: record for name, (record, _) in ruled.items()}
    if weights is None:
        records["none"] = own
    if fabric.is_global_zero:
        others: dict[str, str | bytes] = {record_file(name): record.to_json() for name, record in records.items()}
        hops = [(rules[name], rows) for name, (_, rows) in ruled.items()]
        others[SCORES] = scores_file(tested.scores.numpy(), test.labels.numpy(), hops)
        others |= report_inputs_file(data.inputs("test"), rows_for_report(posterior, test.labels.numpy()))
        calibration |= {"memory": _memory(train, memory, config.seed), "calibration": chains}
        save_model(folder, StoredModel(model, data.encoder(model), rules[rule.name], **calibration), others)
        remove_unfinished(folder)
    fabric.barrier()  # the other processes may read the folder from here on
    return records


def _check_training(train: LabelledSamples, method: str, taxonomy: Taxonomy, memory: int) -> None:
    """Raise an error for labels that a method cannot learn from, or samples that cannot be remembered."""
    METHODS.check_label_sets(method, train.label_sets)
    METHODS.check_labels(method, train.labels, taxonomy)
    if memory and not isinstance(train, LabelledVectors):
        raise RunError("a memory needs features that do not change: expected a frozen backbone, texts or vectors")
    if memory and train.label_sets is not None:
        raise RunError("a memory needs one label of each sample, got several")


def class_weights(config: TrainConfig, labels: IntArray, taxonomy: Taxonomy) -> list[float] | None:
    """Factors of the class probabilities for the prior of a config, shape (C,); None without one.

    Args:
        config: training settings.
        labels: labels of the training samples, shape (M,); those of inner nodes are not counted.
        taxonomy: taxonomy of the classes.

    Raises:
        ConfigError: for a prior of another number of classes, or one that is not above 0.
    """
    if config.class_prior is None:
        return None
    counts = np.bincount(labels[labels < taxonomy.num_classes], minlength=taxonomy.num_classes)
    prior = np.ones(taxonomy.num_classes) if config.class_prior == "balanced" else config.class_prior
    try:
        return [float(weight) for weight in prior_weights(prior, counts)]
    except PosteriorError as error:
        raise ConfigError(f"class_prior: {error}") from error


def _memory(train: LabelledSamples, per_class: int, seed: int) -> Memory | None:
    """Training samples to remember; None if none are wanted or they are not vectors."""
    if not per_class or not isinstance(train, LabelledVectors):
        return None
    held = train.to(torch.device("cpu"))
    return Memory.choose(held.features, held.labels, per_class, seed=seed)


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


def _calibration_chains(
    fabric: Fabric, model: Model, data: RunData, calibration: Mapping[str, Any]
) -> HeldOutChains | None:
    """Chains of the samples that were set aside for the targets of back-off; None if there are none.

    For another class prior than that of the samples, no guarantee holds.
    """
    aside = data.samples("calibration")
    if not len(aside):
        return None
    posterior = Posterior.from_scores(class_scores(fabric, model, aside), data.taxonomy, **calibration)
    same_prior = calibration["class_weights"] is None
    return held_out_chains(posterior, nodes_of_labels(aside.labels.numpy(), data.taxonomy), exchangeable=same_prior)


def _fitted(
    rules: Mapping[str, Rule], held_out: Posterior, labels: Tensor, calibration: HeldOutChains | None
) -> dict[str, Rule]:
    """Rules by name, fitted on validation samples and their labels, shape (M,); targets on the calibration samples."""
    nodes = held_out.taxonomy.leaves[labels.numpy()]
    return {
        name: rule.calibrated(calibration) if rule.has_target else rule.fit(held_out, nodes)
        for name, rule in rules.items()
    }


def _earlier_records(
    fabric: Fabric,
    data: RunData,
    record: Record,
    folder: Path,
    rules: Mapping[str, Rule],
    *,
    temperature: float | None,
) -> dict[str, Record]:
    """Records of a finished run under rules, read from the folder or computed from its stored scores.

    The validation split is scored again only for a rule that is fitted on it.
    """
    found = {name: record if name == "none" else earlier_record(record, folder, name, temperature) for name in rules}
    records = {name: earlier for name, earlier in found.items() if earlier is not None}
    missing = {name: rule for name, rule in rules.items() if name not in records}
    if not missing:
        return records
    files = Manifest.of(folder)
    scores, labels, _ = stored_scores(files, data.taxonomy)
    fitted, weights = stored_calibration(files)
    temperature = fitted if temperature is None else temperature
    calibration: dict[str, Any] = {"temperature": temperature, "class_weights": weights}
    if any(rule.fitted for rule in missing.values()):
        val, model = data.for_method(record.method).samples("val"), load_model(files)
        known = val.labels < data.taxonomy.num_classes
        val_scores = class_scores(fabric, model.model, val)[known]
        held_out = Posterior.from_scores(val_scores, data.taxonomy, **calibration)
        missing = _fitted(missing, held_out, val.labels[known], model.calibration)
    posterior = Posterior.from_scores(scores, data.taxonomy, **calibration)
    for name, rule in missing.items():
        records[name], _ = ruled_record(record, rule, posterior, labels, temperature)
        if fabric.is_global_zero:
            records[name].write(folder)
    return records


def _record(
    fabric: Fabric, data: RunData, config: TrainConfig, progress: RunProgress, metrics: dict[str, float]
) -> Record:
    return Record(
        method=config.method,
        uses_tree=METHODS.uses_tree(config.method),
        rule="none",
        seed=config.seed,
        config=config.to_dict(),
        data=data.summary(),
        taxonomy=taxonomy_summary(data.taxonomy),
        metrics=metrics,
        history=[_figures(epoch) for epoch in progress.history],
        best_epoch=progress.best_epoch,
        train_seconds=progress.seconds,
        versions=package_versions(),
        environment=environment(fabric),
        choice=progress.choice,
    )


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
