"""Progress of a comparison as a live table: a row for each method, with its progress and validation metrics."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from rich.console import Console

    from hiercos.benchmark import Result, Task
    from hiercos.engine import RunProgress, TrainConfig

REDRAW_INTERVAL = 0.25  # seconds
Figures = tuple[float, float]  # top-1 and HOPS on validation


class ProgressTable:
    """An observer of a comparison that updates a table on a terminal; the table stays visible at the end.

    Args:
        console: terminal to draw on.
        methods: names of the methods, one row each.
        seeds: number of runs of each method.
        trials: number of trials of each method's search; 0 for none.
        jobs: number of parallel tasks.
    """

    def __init__(self, console: Console, methods: Sequence[str], *, seeds: int, trials: int, jobs: int) -> None:
        self.rows = {method: MethodRow({"trial": trials, "seed": seeds}) for method in methods}
        self.kinds = {"trial": "trials", "seed": "seeds"} if trials else {"seed": "seeds"}
        self.jobs, self.drawn = jobs, 0.0
        self.live = Live(console=console, auto_refresh=False, get_renderable=self.render)

    def __enter__(self) -> ProgressTable:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.live.refresh()
        self.live.stop()

    def begin(self, task: Task[Result]) -> TaskCallback:
        """Handle the start of a task."""
        row = self.rows[task.line]
        row.running[task.name] = TaskCallback(self, row, task)
        self.draw()
        return row.running[task.name]

    def end(self, task: Task[Result], result: Result) -> None:
        """Handle the end of a task."""
        row = self.rows[task.line]
        finished = row.running.pop(task.name)
        row.expected_epochs = finished.epoch_number or None
        row.done[task.kind].append((result.top1, result.hops))
        self.draw()

    def draw(self) -> None:
        """Redraw the table, at most once in `REDRAW_INTERVAL`."""
        if time.monotonic() - self.drawn >= REDRAW_INTERVAL:
            self.drawn = time.monotonic()
            self.live.refresh()

    def render(self) -> Table:
        """The table in its current state."""
        table = Table("method", caption=self._caption(), caption_justify="left")
        for heading in (*self.kinds.values(), "val top-1 %", "val HOPS", "left"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("epoch")
        for method, row in self.rows.items():
            counts = [f"{len(row.done[kind])}/{row.totals[kind]}" for kind in self.kinds]
            table.add_row(method, *counts, *_texts(row.figures()), row.left(), row.epochs())
        return table

    def _caption(self) -> str:
        """The number of finished tasks and the estimated time left, from the mean duration of started tasks."""
        rows = self.rows.values()
        total = sum(sum(row.totals.values()) for row in rows)
        text = f"{sum(len(done) for row in rows for done in row.done.values())} of {total} done"
        paces = [row.task_seconds for row in rows if row.task_seconds is not None]
        left = sum(row.tasks_left() for row in rows)
        if not paces or not left:
            return text
        seconds = sum(row.tasks_left() * (row.task_seconds or fmean(paces)) for row in rows)
        return f"{text}, about {duration(seconds / min(self.jobs, math.ceil(left)))} left"


@dataclass
class MethodRow:
    """Progress of a method's tasks.

    Attributes:
        totals: number of tasks of each kind, "trial" and "seed".
        done: validation metrics of the finished tasks of each kind.
        running: running tasks, by name.
        task_seconds: estimated duration of a task; None until its first epoch ends.
        expected_epochs: number of epochs of the last finished task; None before the first.
    """

    totals: dict[str, int]
    done: dict[str, list[Figures]] = field(default_factory=lambda: {"trial": [], "seed": []})
    running: dict[str, TaskCallback] = field(default_factory=dict)
    task_seconds: float | None = None
    expected_epochs: int | None = None

    def epochs(self) -> str:
        """The current epochs of the running tasks."""
        return ", ".join(map(str, self.running.values()))

    def figures(self) -> Figures | None:
        """Mean over the seeds so far (running ones at their best epoch); before that, the trial with the best HOPS."""
        known = {kind: list(done) for kind, done in self.done.items()}
        for task in self.running.values():
            known[task.kind] += [] if task.figures is None else [task.figures]
        if known["seed"]:
            top1, hops = zip(*known["seed"], strict=True)
            return fmean(top1), fmean(hops)
        trained = [figures for figures in known["trial"] if not math.isnan(figures[1])]
        return max(trained, key=lambda figures: figures[1], default=None)

    def tasks_left(self) -> float:
        """Number of unfinished tasks; of the running ones, only the part that is left."""
        left = sum(total - len(self.done[kind]) for kind, total in self.totals.items())
        return left - sum(task.share for task in self.running.values())

    def left(self) -> str:
        """The estimated time left for this row, with the current number of parallel tasks."""
        if all(len(self.done[kind]) == total for kind, total in self.totals.items()):
            return "done"
        if self.task_seconds is None:
            return ""
        return duration(self.task_seconds * self.tasks_left() / max(1, len(self.running)))


class TaskCallback:
    """Training callback that shows the progress of one task in the table."""

    def __init__(self, table: ProgressTable, row: MethodRow, task: Task[Result]) -> None:
        self.table, self.row, self.kind, self.number = table, row, task.kind, task.number
        self.epochs, self.patient = task.config.epochs, task.config.patience is not None
        self.epoch_number, self.share = 0, 0.0
        self.figures: Figures | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.number}: {self.epoch_number}/{self.epochs}"

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Update the current epoch."""
        self.epoch_number, self.share = epoch, self._share(epoch - 1 + done / total)
        self.table.draw()

    def _share(self, epochs: float) -> float:
        """Share of the task that is done after some epochs; with patience, an estimate from an earlier task."""
        return min(1.0, epochs / ((self.row.expected_epochs if self.patient else None) or self.epochs))

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:  # noqa: ARG002  # the callbacks' signature
        """Update the metrics of the best epoch so far and the estimated duration."""
        self.epoch_number = len(progress.history)
        self.share = self._share(self.epoch_number)
        self.figures = (progress.best.top1, progress.best.hops)
        self.row.task_seconds = progress.seconds / self.share
        self.table.draw()

    def close(self) -> None:
        """Do nothing: `ProgressTable.end` removes the task."""


def duration(seconds: float) -> str:
    """A duration in readable units.

    Example:
        >>> duration(40), duration(100), duration(7_300)
        ('40 s', '2 min', '2 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _texts(figures: Figures | None) -> tuple[str, str]:
    return ("", "") if figures is None else (f"{100 * figures[0]:.2f}", f"{figures[1]:.4f}")
