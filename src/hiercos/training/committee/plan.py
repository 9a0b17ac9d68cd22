"""A plan of the default's training before it begins: members, expected seconds and memory, from counted costs."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from scipy.sparse import issparse

from hiercos.methods import DEFAULT, MANY_CLASSES, Committee, Effort, LabelledFeatures, Plan
from hiercos.taxonomy import Taxonomy
from hiercos.training.committee.candidates import LINEAR, SHORT, linear_heads, takes_short, wide_heads
from hiercos.training.committee.costs import solved_cost, wide_cost
from hiercos.training.features import Features
from hiercos.training.settings import EFFORT, Settings, SettingsError
from hiercos.training.solve import labelled_features

# Processor seconds for a million of counted cost, measured once on one thread: four chapters of ICD-10-CM
SECONDS = {"siblings": 9e-4, "centroids": 2.7e-2, "tree-logistic": 3.0e-4, "linear-svm": 5.1e-4, "wide": 2.6e-4}
FITS = 2  # a choice on validation samples, and a fit on all
COPIES = 6  # of dense weights and of features that a solver holds
WIDTH = 512  # of wide heads
EFFORTS: tuple[Effort, ...] = ("quick", "normal", "best")
UNITS = {"s": 1, "m": 60, "h": 3600}
MEGABYTE, MILLION = 1e6, 1e6


class Expected(NamedTuple):
    """Expected cost of the training of a member."""

    name: str
    seconds: float
    megabytes: float


def seconds_of(text: str) -> float:
    """Seconds of a limit such as 60s, 5m or 1h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or not float(found[1]):
        raise SettingsError(f"time {text}: expected a time above 0 such as 60s, 5m or 1h")
    return float(found[1]) * UNITS[found[2]]


def expected_members(train: LabelledFeatures, taxonomy: Taxonomy, effort: Effort) -> list[Expected]:
    """The members that an effort tries, each with what it is expected to take."""
    rows, width = train.features.shape
    stored = (8 if issparse(train.features) else 4) * train.features.size
    head = Committee(taxonomy, width, (), Plan(effort=effort), {})
    names = linear_heads(head, train)
    solved: list[tuple[str, Mapping[str, Any]]] = [(name, {}) for name in names]
    if effort == "normal" and takes_short(names, taxonomy, train):
        solved.append((LINEAR, SHORT))
    found = []
    for name, options in solved:
        weights = 0 if name in {"siblings", "centroids"} else 4 * width * taxonomy.num_classes
        cost = solved_cost(name, options, taxonomy, train)
        found.append(_expected(name, cost, stored + weights))
    parameters = WIDTH * (min(width, WIDTH) + 2 * WIDTH + taxonomy.num_nodes)
    wide = _expected("wide", wide_cost(rows, parameters), stored + 4 * parameters)
    return [*found, *(wide._replace(name="wide head") for _ in range(wide_heads(head, train)))]


def _expected(name: str, cost: float, size: float) -> Expected:
    return Expected(name, FITS * cost / MILLION * SECONDS[name], COPIES * size / MEGABYTE)


def planned(features: Features, settings: Settings, time: str | None) -> tuple[Settings, list[str]]:
    """Settings with the effort that suits a time, if there is one, and the plan as sentences.

    Raises:
        SettingsError: if the default would not fit in memory, or for a time that is none.
    """
    limit = None if time is None else seconds_of(time)
    dataset, taxonomy = features.dataset, features.taxonomy
    if settings.method != DEFAULT or dataset.label_sets is not None or taxonomy.num_classes >= MANY_CLASSES:
        if limit is not None:
            raise SettingsError(f"time {time}: expected one label of each sample and at most {MANY_CLASSES:,} classes")
        return settings, []
    train, lines = labelled_features(features.samples("train")), list[str]()
    if limit is not None:
        effort, lines = planned_effort(train, taxonomy, limit)
        settings = replace(settings, effort=effort)
    check_memory(expected_members(train, taxonomy, settings.effort or EFFORT))
    return settings, lines


def planned_effort(train: LabelledFeatures, taxonomy: Taxonomy, seconds: float) -> tuple[Effort, list[str]]:
    """The highest effort that is expected to end in time, the lowest if none is, and the plan as sentences.

    Time never decides anything after that: the effort, which the record has, trains the same model again.
    """
    plans: dict[Effort, Sequence[Expected]] = {effort: expected_members(train, taxonomy, effort) for effort in EFFORTS}
    totals = {effort: sum(each.seconds for each in members) for effort, members in plans.items()}
    fitting = [effort for effort, total in totals.items() if total <= seconds]
    chosen = fitting[-1] if fitting else min(totals, key=totals.__getitem__)
    rows, width = train.features.shape
    data = f"{rows:,} rows, {width:,} features, {taxonomy.num_classes:,} classes"
    members = "; ".join(f"{each.name} {each.seconds:.1f} s, {each.megabytes:,.0f} MB" for each in plans[chosen])
    lines = [f"Plan for {data}: effort {chosen}, expected {totals[chosen]:.1f} s ({members})."]
    if not fitting:
        lines.append(f"No effort is expected to end in {seconds:g} s; {chosen} is the shortest.")
    return chosen, [*lines, f"--effort {chosen} in place of --time trains the same model."]


def check_memory(members: Sequence[Expected], available: float | None = None) -> None:
    """Raise a `SettingsError` if a member needs more memory than there is, in MB; that of the machine by default."""
    available = available_memory() if available is None else available
    for each in members:
        if each.megabytes > available:
            raise SettingsError(
                f"{each.name}: expected to need {each.megabytes:,.0f} MB of memory, and {available:,.0f} MB are left: "
                "use --effort quick, --method siblings, or fewer features"
            )


def available_memory() -> float:
    """Memory in MB that a process can take; infinity where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(float(line.split()[1]) / 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
        return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE if pages else math.inf
