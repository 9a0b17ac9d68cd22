"""Ablation of Hier-COS: one setting changed at a time, on the same features, splits and seeds; and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hiercos.benchmark import Observer, Task, run_tasks
from hiercos.encoders import LabelledSamples
from hiercos.methods import Model, build_method
from hiercos.metrics import RESULTS, in_shown_order, metric_spec
from hiercos.model import Classifier, evaluate
from hiercos.paper.axes import AXIS_DESCRIPTIONS, SCORING, Setting
from hiercos.paper.subspaces import subspace_cosine
from hiercos.records import RUNS, Record
from hiercos.report import (
    Results,
    Section,
    Statement,
    Variant,
    Verdict,
    changes,
    figure,
    variant_of,
)
from hiercos.training import AnyFeatures, Settings, final_features

if TYPE_CHECKING:
    from lightning_fabric import Fabric

COSINE = "subspace_cosine"
FIGURES = in_shown_order((*RESULTS, metric_spec(COSINE)))


def scored_record(
    fabric: Fabric, record: Record, model: Model, test: LabelledSamples, scoring: Mapping[str, Any]
) -> Record:
    """The record of a run with the mean cosine added to its metrics, scored again if options of the scores changed.

    Args:
        model: trained model of the run; its scores are replaced.
    """
    metrics, spans = dict(record.metrics), {**dict.fromkeys(SCORING, True), **scoring}
    if scoring:
        parts = build_method(model.method, model.taxonomy, model.in_features, {**model.options, **scoring})
        model.class_scores, model.node_scores = parts.class_scores, parts.node_scores
        metrics = evaluate(fabric, model, test)
    metrics[COSINE] = mean_cosine(fabric, model, test, ancestors=spans["ancestors"])
    return replace(record, config={**record.config, "options": {**model.options, **scoring}}, metrics=metrics)


@torch.inference_mode()
def mean_cosine(fabric: Fabric, model: Model, samples: LabelledSamples, *, ancestors: bool = True) -> float:
    """Mean over the samples labelled with a class of the cosine between embedding and projection onto its subspace."""
    model.to(fabric.device).eval()
    total = torch.zeros((), dtype=torch.float64)
    known = torch.nonzero(samples.labels.cpu() < model.taxonomy.num_classes).squeeze(1)
    parts = torch.split(known, samples.at_once)
    for part, inputs in zip(parts, samples.batches(parts), strict=True):
        with fabric.autocast():
            assert model.energies is not None
            z = model.energies(model(fabric.to_device(inputs))).sqrt()  # (B, N), of length 1
        labels = samples.labels[part].to(fabric.device)
        total += subspace_cosine(z.float(), labels, model.taxonomy, ancestors=ancestors).double().sum().cpu()
    return float(total) / len(known)


def ablate(
    fabric: Fabric,
    features: AnyFeatures,
    config: Settings,
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    folder: Path,
    jobs: int = 1,
    observer: Observer | None = None,
) -> list[list[Record]]:
    """Train and test Hier-COS with every setting; settings with the same training options are trained once.

    Args:
        fabric: launched Fabric.
        features: features that all settings share.
        config: training settings of the published method (the seed is replaced).
        settings: settings to compare, from `axis_settings`.
        seeds: random seeds, one run each.
        folder: folder that receives one subfolder per run; finished runs in it are not repeated.
        jobs: number of parallel runs, as in a comparison.
        observer: progress callback; None by default.

    Returns:
        For each setting one record per seed, with `subspace_cosine` among the metrics of the test split.
    """
    by_method: dict[str, list[Setting]] = {}
    for setting in settings:
        by_method.setdefault(setting.method, []).append(setting)
    tasks = [
        Task(
            method,
            f"seed {seed}",
            features,
            replace(config, options={**config.options, **served[0].trained}, seed=seed),
            folder / RUNS / method / f"seed-{seed}",
        )
        for method, served in by_method.items()
        for seed in seeds
    ]
    trained = {
        task: outcome.records["none"]
        for task, outcome in run_tasks(fabric, tasks, folder, jobs=jobs, observer=observer)
    }
    records: dict[tuple[str, str], list[Record]] = {}
    test = final_features(features, config).samples("test")
    for task in tasks:
        assert task.folder is not None
        model = Classifier.load(task.folder, trust_backbone=True).model
        for setting in by_method[task.method]:
            record = scored_record(fabric, trained[task], model, test, setting.scoring)
            records.setdefault((setting.axis, setting.name), []).append(record)
    return [records[setting.axis, setting.name] for setting in settings]


def ablation_results(groups: Sequence[tuple[Setting, Sequence[Record]]]) -> Results:
    """The results of an ablation, as those of a comparison: a section with its tables for every axis.

    The records of a setting are one per seed; a setting without changes is the reference of its axis.
    """
    sections = []
    for axis in dict.fromkeys(setting.axis for setting, _ in groups):
        own = [group for group in groups if group[0].axis == axis]
        variants = tuple(variant_of(setting.row, records) for setting, records in own)
        (reference,) = [variant for variant, (setting, _) in zip(variants, own, strict=True) if not setting.changes]
        sections.append(Section(axis, variants, reference, AXIS_DESCRIPTIONS[axis]))
    rows = [
        {"axis": setting.axis, "setting": setting.name, "seed": record.seed}
        | {spec.name: figure(record, spec.name) for spec in FIGURES}
        for setting, records in groups
        for record in records
    ]
    summary = Verdict(tuple(map(_statement, sections)))
    return Results(tuple(sections), tuple(rows), summary, columns=FIGURES, corner="setting")


def _statement(section: Section) -> Statement:
    """Statement on the gain of the setting with the highest HOPS, and on the cosine without the regulariser."""
    reference = section.reference or section.variants[0]
    best = max(section.variants, key=lambda variant: variant.estimate("hops").mean)
    if best.estimate("hops").mean == reference.estimate("hops").mean:
        text = f"no setting has a higher HOPS than {reference.name}"
    else:
        text = f"against {reference.name}, {best.name} {changes(best, reference)}"
    off = next(
        (variant for variant in section.variants if variant.records[0].config["options"].get("alpha") == 0), None
    )
    return Statement("gain", f"{text}{_cosines(reference, off) if off else ''}.", subject=section.title)


def _cosines(reference: Variant, off: Variant) -> str:
    on, without = (variant.estimate(COSINE).mean for variant in (reference, off))
    return f"; mean cosine with the regulariser {on:.3f}, without {without:.3f}"
