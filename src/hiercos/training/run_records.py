"""Records of a run: its test samples under every rule, the files of its folder, and the records of a finished one."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from hiercos import storage
from hiercos.decisions import ROWS_AT_ONCE, Posterior, Rule, SearchedPosterior, Several
from hiercos.methods import METHODS
from hiercos.metrics import AVERAGE_PRECISION, SuiteSums, suite_names, suite_values
from hiercos.model import Classifier, evaluate_scores, ruled_tensors, set_metrics, stored_calibration
from hiercos.records import RECORD_FILE, Record, read_records, records_json
from hiercos.taxonomy import Floats
from hiercos.training.calibrate import Calibration
from hiercos.training.checkpoint import Epoch, RunProgress
from hiercos.training.features import AnyFeatures, taxonomy_summary
from hiercos.training.fits import Run, Trained
from hiercos.training.run_folder import (
    HELD_OUT,
    SCORES,
    finished_record,
    remove_unfinished,
    report_inputs_file,
    rows_for_report,
    scores_file,
    stored_scores,
)

if TYPE_CHECKING:
    from lightning_fabric import Fabric

PACKAGES = ("hiercos", "torch", "numpy", "scikit-learn", "torchmetrics", "lightning-fabric", "safetensors")


def tested(
    run: Run,
    classifier: Classifier,
    features: AnyFeatures,
    calibration: Calibration,
    *,
    rules: Mapping[str, Rule],
    progress: RunProgress,
) -> dict[str, Record]:
    """Score the test samples once, and write the folder; the records by rule, none without a folder."""
    if run.folder is None:
        return {}
    test = features.samples("test")
    measured = evaluate_scores(run.fabric, classifier.model, test, temperature=calibration.temperature)
    posterior = calibration.posterior(measured.scores)
    worst = rows_for_report(posterior, test.labels.numpy())[: None if run.settings.keep_inputs else 0]
    inputs = report_inputs_file(features.dataset.inputs.take(features.dataset.rows("test")), worst)
    own = _record(run, features, progress, measured.metrics)
    kept = {**classifier.kept, "test inputs": len(worst) if inputs else 0}
    own = replace(own, learned={**(own.learned or {}), "options": dict(classifier.model.options), "kept": kept})
    ruled = {
        name: ruled_record(own, rule, posterior, test.labels, calibration.temperature, sets=test.label_sets)
        for name, rule in rules.items()
    }
    records = {name: record for name, (record, _) in ruled.items()}
    if calibration.class_weights is None:
        records["none"] = own
    if run.fabric.is_global_zero:
        others: dict[str, Any] = {RECORD_FILE: records_json(records.values()), **inputs}
        if not classifier.model.searches:  # else scores of all classes would be gigabytes
            hops = {rules[name].name: rows for name, (_, rows) in ruled.items()}
            others[SCORES] = scores_file(measured.scores, test.labels.numpy(), hops)
            if (held_out := calibration.held_out) is not None:
                others[HELD_OUT] = scores_file(held_out.scores, held_out.labels.numpy(), {})
        classifier.save(run.folder, others)
        remove_unfinished(run.folder)
    run.fabric.barrier()  # the other processes may read the folder from here on
    return records


def _record(run: Run, features: AnyFeatures, progress: RunProgress, metrics: dict[str, float]) -> Record:
    method, rows = run.settings.method, len(run.given.dataset.rows("val"))
    return Record(
        method=method,
        uses_tree=METHODS.traits(method).uses_tree,
        rule="none",
        seed=run.settings.seed,
        config=run.settings.to_dict(),
        data=run.summary,
        taxonomy=taxonomy_summary(features.taxonomy),
        metrics=metrics,
        history=[_figures(epoch) for epoch in progress.history],
        best_epoch=progress.best_epoch,
        train_seconds=progress.seconds,
        versions=package_versions(),
        environment=environment(run.fabric),
        choice=progress.choice,
        learned={
            "rows": len(features.dataset.training_rows),
            "held_out": f"{rows} validation rows of the model before the last fit"
            if rows
            else f"{run.parts} cross-fits",
        },
    )


def finished(run: Run) -> Trained | None:
    """The finished run of these settings that the folder holds; None without one.

    Records of rules that it has not are computed from its scores. A rule that is fitted needs held-out samples, from
    which the final model has learned: then the run is made again.
    """
    if run.folder is None or (record := finished_record(run.folder, run.identity, run.rule)) is None:
        return None
    if run.fabric.is_global_zero:
        remove_unfinished(run.folder)  # of a process that ended between the last file and this
    files = storage.opened(run.folder)
    known = {
        name: each
        for name, each in read_records(files).items()
        if name == "none" or run.temperature in (None, each.temperature)
    }
    if any(rule.fitted and name not in known for name, rule in run.rules.items()):
        return None
    records = {name: known.get(name) or _later_record(run, files, record, rule) for name, rule in run.rules.items()}
    history = {"history": record.history, "best_epoch": record.best_epoch, "seconds": record.train_seconds}
    progress = RunProgress.from_dict({**history, "choice": record.choice})
    return Trained(Classifier.load(files), records, progress)


def _later_record(run: Run, files: storage.Folder, record: Record, rule: Rule) -> Record:
    """Record of a finished run under one more rule, from its stored scores."""
    scores, labels, _ = stored_scores(files)
    temperature, weights = stored_calibration(files)
    temperature = temperature if run.temperature is None else run.temperature
    posterior = scores.posterior(run.given.taxonomy, temperature, weights)
    later, _ = ruled_record(record, rule, posterior, labels, temperature)
    if run.fabric.is_global_zero:
        later.write(files.path)
    return later


def ruled_record(
    record: Record,
    rule: Rule,
    posterior: Posterior,
    labels: ArrayLike,
    temperature: float,
    *,
    sets: Tensor | None = None,
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
        sets: nodes of several labels of each sample, shape (M, K); None if each has one.

    Returns:
        Record, and HOPS of each test sample, shape (M,), nan for one that is labelled with an inner node.
    """
    if isinstance(posterior, SearchedPosterior):  # all its rules have the order of the probabilities
        return replace(record, rule=rule.name, fitted_rule=rule.to_dict(), temperature=temperature), np.empty(0)
    taxonomy, true, rows = posterior.taxonomy, torch.as_tensor(labels), [np.empty(0)]
    hops, sums = suite_names(taxonomy).index("hops"), SuiteSums.empty(taxonomy)
    for start, batch in zip(range(0, len(true), ROWS_AT_ONCE), posterior.batches(ROWS_AT_ONCE), strict=True):
        own = true[start : start + len(batch)]
        values = suite_values(labels=own, taxonomy=taxonomy, **ruled_tensors(rule, batch))
        sums = sums.plus(SuiteSums.of(values, own, taxonomy))
        rows.append(values[:, hops].numpy())
    metrics = {name: float(value) for name, value in sums.means(taxonomy).items()}
    metrics |= {name: value for name, value in record.metrics.items() if name == AVERAGE_PRECISION}  # of no rule
    if sets is not None and isinstance(rule, Several) and len(sets):
        metrics |= set_metrics(rule, posterior, sets)
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
        "device_name": torch.cuda.get_device_name() if fabric.device.type == "cuda" else platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": bool(torch._C._has_mkldnn),
        "cuda": torch.version.cuda,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }
