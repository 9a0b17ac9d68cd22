"""Trainings of a comparison, a search or learning curves: one after another, or several at once in other processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from pickle import PicklingError
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from hiercos import storage
from hiercos.errors import FaultsError
from hiercos.records import Record
from hiercos.taxonomy import IntArray
from hiercos.training import (
    AnyFeatures,
    RunProgress,
    Settings,
    TrainingCallback,
    TrainingError,
    final_features,
    train,
)

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class JobsError(FaultsError):
    """An unsupported number of parallel jobs, or one that ended unexpectedly."""


@dataclass(frozen=True, eq=False)
class Task:
    """One training."""

    method: str  # name of the method, with its changed options in an ablation
    run: str  # name of the run of the method, such as "seed 3" or "trial 2"
    features: AnyFeatures  # features of all samples
    settings: Settings  # training settings
    # folder of the model, where a finished run is found again; None for a trial, which keeps no model
    folder: Path | None = None
    rules: tuple[str, ...] = ()  # decision rules to write records for
    rows: IntArray | None = None  # rows of the features to use; None for all
    # entries that only the caller knows, by field of the records; those of "data" are added to it
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name in messages, such as "hier-cos seed 3"."""
        return f"{self.method} {self.run}"


@dataclass(frozen=True)
class Outcome:
    """Result of a task."""

    records: Mapping[str, Record] = field(default_factory=dict)  # records of the test samples by rule; none of a trial
    progress: RunProgress | None = None  # history of the training; None if it failed
    fault: str | None = None  # reason why the training of a trial failed; None if it did not


class Observer(Protocol):
    """Progress callback of several tasks."""

    def begin(self, task: Task) -> TrainingCallback | None:
        """Handle the start of a task in this process; returns the progress callback of its training."""

    def end(self, task: Task, outcome: Outcome) -> None:
        """Handle the end of a task in any process."""


def run_tasks(
    fabric: Fabric, tasks: Sequence[Task], folder: Path, *, jobs: int = 1, observer: Observer | None = None
) -> Iterator[tuple[Task, Outcome]]:
    """Run trainings, and yield each with its outcome when it is finished; finished runs are read from their folders.

    Args:
        fabric: launched Fabric.
        tasks: trainings, whose features are shared if they are the same object.
        folder: folder of all tasks, which is locked meanwhile; created if missing.
        jobs: number of parallel tasks, each in a process with an equal share of the threads of this one; 1 runs them
            here.
        observer: progress callback; None for no reports.
    """
    if jobs < 1:
        raise JobsError(f"expected at least one job, got {jobs}")
    if jobs > 1 and fabric.device.type != "cpu":
        raise JobsError(f"{jobs} jobs: expected the device cpu, got {fabric.device.type}, which runs one at a time")
    if jobs > 1 and fabric.world_size > 1:
        raise JobsError(f"{jobs} jobs: expected one process, got the {fabric.world_size} of torchrun")
    with storage.folder(folder) if fabric.is_global_zero else nullcontext():
        here = ((task, perform(task, fabric, observer.begin(task) if observer else None)) for task in tasks)
        for task, outcome in here if jobs == 1 else _in_processes(tasks, folder, jobs):
            if observer:
                observer.end(task, outcome)
            yield task, outcome


def perform(task: Task, fabric: Fabric, callback: TrainingCallback | None = None) -> Outcome:
    """Train, calibrate and test the model of a task."""
    features, settings = task.features, task.settings
    if task.rows is not None:
        features = features.for_method(settings).take(task.rows)
    try:
        trained = train(
            features, settings, fabric=fabric, folder=task.folder, rules=task.rules, resume=True, callback=callback
        )
    except TrainingError as error:
        if task.folder is None:  # settings that fail to train are a valid result of a search
            return Outcome(fault=str(error))
        raise TrainingError(f"{task.name}: {error}") from error
    return Outcome(
        {rule: _completed(record, task, fabric) for rule, record in trained.records.items()}, trained.progress
    )


def _completed(record: Record, task: Task, fabric: Fabric) -> Record:
    """A record with the entries that the caller knows, also written to its folder."""
    completed = replace(record, **{**task.about, "data": {**record.data, **task.about.get("data", {})}})
    if completed != record and task.folder is not None and fabric.is_global_zero:
        completed.write(task.folder)
    return completed


def _in_processes(tasks: Sequence[Task], folder: Path, jobs: int) -> Iterator[tuple[Task, Outcome]]:
    """Run tasks in other processes, which map the same features into memory."""
    for task in tasks:  # what the processes would each compute again
        task.features.summary()
        task.features.for_method(task.settings)
        if task.rows is None:
            final_features(task.features, task.settings)
    threads = max(1, torch.get_num_threads() // jobs)
    here: dict[str, Any] = {"temp_folder": str(folder), "mmap_mode": "c"}  # a change of features stays in its process
    here |= {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}  # Ctrl-C ends this process
    calls = (delayed(_perform_there)(index, task, threads, os.getpid()) for index, task in enumerate(tasks))
    try:
        with parallel_config("loky", inner_max_num_threads=threads, **here):
            finished = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(calls)
        for index, outcome in finished:
            yield tasks[index], outcome
    except TerminatedWorkerError as error:
        raise JobsError(f"one of {jobs} processes was ended, perhaps because memory ran out: try fewer jobs") from error
    except PicklingError as error:
        reason = str(error.__cause__).strip(" \n\"'").splitlines()[-1]
        raise JobsError(f"{folder}: features cannot be shared with {jobs} processes: {reason}") from error


def _perform_there(index: int, task: Task, threads: int, parent: int) -> tuple[int, Outcome]:
    """Perform a task in another process; see `perform`."""
    from lightning_fabric import Fabric

    _end_with(parent)
    torch.set_num_threads(threads)
    fabric = Fabric(accelerator="cpu", devices=1, precision=task.settings.precision)
    fabric.launch()
    return index, perform(task, fabric)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent was killed: the next command needs the folders of the runs."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
