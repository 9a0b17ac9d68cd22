"""Progress of training on stderr: a live line or table on a terminal, else lines at intervals."""

from __future__ import annotations

import math
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hiercos.cli.options.groups import is_first_process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from hiercos.benchmark import Observer, Result, Task
    from hiercos.engine import Epoch, RunProgress, TrainConfig

INTERVAL = 10.0  # seconds between two lines in a log
REDRAW_INTERVAL = 0.25  # seconds between two drawings of a table
Figures = tuple[float, float]  # top-1 and HOPS on validation
BEST = "The weights of the best epoch on validation, by top-1 or with several labels by average precision, are kept."
LAST = "The weights of the last epoch are kept."


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
        row = self.rows[task.method]
        row.running[task.name] = TaskCallback(self, row, task)
        self.draw()
        return row.running[task.name]

    def end(self, task: Task[Result], result: Result) -> None:
        """Handle the end of a task."""
        row = self.rows[task.method]
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
        if not math.isnan(progress.best.top1):  # nan for a member that is trained without validation
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


def training_callback(config: TrainConfig, rule: str | None = None) -> LiveDisplay | PlainDisplay | None:
    """A progress display for one run, live if stderr is a terminal; None in all but the first process.

    If the decision rule of the results is given, the display ends with an explanation of its figures.
    """
    if not is_first_process():
        return None
    console = Console(stderr=True)
    name = f"{config.method} seed {config.seed}"
    ruled = [] if rule in (None, "none") else [f"val HOPS is without the rule {rule}; the results are with it."]
    if console.is_terminal:
        return LiveDisplay(console, name, config, ruled)
    kept = BEST if config.patience is None else LAST
    return PlainDisplay(name, [] if rule is None else [kept, *ruled])


def observer(methods: Sequence[str], *, seeds: int, trials: int, jobs: int) -> AbstractContextManager[Observer | None]:
    """A progress display for a comparison, a table if stderr is a terminal; None in all but the first process."""
    if not is_first_process():
        return nullcontext()
    console = Console(stderr=True)
    if console.is_terminal:
        return ProgressTable(console, methods, seeds=seeds, trials=trials, jobs=jobs)
    return nullcontext(PlainLines())


class PlainLines:
    """Observer that prints the progress of every run and trial of a comparison as lines."""

    def begin(self, task: Task[Result]) -> PlainDisplay:
        """The progress display of a task."""
        return PlainDisplay(task.name, is_one_of_many=True)

    def end(self, task: Task[Result], result: Result) -> None:
        """Do nothing: the last epoch has been printed."""


def _figures(epoch: Epoch) -> str:
    if not math.isnan(epoch.average_precision):  # samples with several labels
        return f"loss {epoch.loss:.4f}  val average precision {epoch.average_precision:.4f}"
    metrics = f"val log-loss {epoch.log_loss:.4f}  val top-1 {100 * epoch.top1:.2f}%  val HOPS {epoch.hops:.4f}"
    return f"loss {epoch.loss:.4f}  {metrics}"


def _member_figures(progress: RunProgress, config: TrainConfig) -> str:
    """Name, epoch and top-1 or loss of a member of a committee; of one of six they fit 80 columns."""
    epoch = progress.history[-1]
    return f"{progress.member}: epoch {epoch.number}/{config.epochs}, {_member_metric(epoch)}"


def _member_metric(epoch: Epoch) -> str:
    """Top-1 on validation; the training loss of a member without validation."""
    return f"loss {epoch.loss:.4f}" if math.isnan(epoch.top1) else f"val top-1 {100 * epoch.top1:.2f}%"


class PlainDisplay:
    """Progress callback that prints lines, for logs and pipes.

    A line holds the figures of an epoch: of the last one of a run, and of one at most every `INTERVAL` before. The
    lines of a committee name the member.

    Args:
        name: name of the run.
        legend: sentences to print after the last line.
        is_one_of_many: whether lines of other runs appear beside these, so that those of a member need the name, too.
    """

    def __init__(self, name: str, legend: Sequence[str] = (), *, is_one_of_many: bool = False) -> None:
        self.name, self.legend, self.prefix = name, legend, f"{name}, " if is_one_of_many else ""
        self.start = self.printed = time.monotonic()
        self.done, self.waiting = 0, ""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Ignore single batches."""

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Print the figures of the epoch and the estimated time left, if the last line is old enough."""
        self.done += 1
        epoch = progress.history[-1]
        if progress.member:
            self.waiting, self.legend = f"{self.prefix}{_member_figures(progress, config)}\n", ()
            self._print_if_due()
            return
        left = (time.monotonic() - self.start) / self.done * (config.epochs - epoch.number)
        is_fixed = config.patience is None
        end = f"best epoch {progress.best_epoch}  {left:.0f} s left" if is_fixed else f"at most {left:.0f} s left"
        name = f"{self.name}  epoch {epoch.number}/{config.epochs}"
        self.waiting = f"{name}  {_figures(epoch)}  {end}\n"
        self._print_if_due()

    def _print_if_due(self) -> None:
        """Print the figures of the last epoch if the last line is old enough."""
        if time.monotonic() - self.printed >= INTERVAL:
            self._print_waiting()

    def _print_waiting(self) -> None:
        """Print the figures of the last epoch unless they were printed."""
        if self.waiting:
            sys.stderr.write(self.waiting)
            sys.stderr.flush()
            self.waiting, self.printed = "", time.monotonic()

    def close(self) -> None:
        """Print the figures of the last epoch, and once, after the first line, the legend."""
        self._print_waiting()
        if self.done:
            sys.stderr.write("".join(f"{line}\n" for line in self.legend))
            self.legend = ()


class LiveDisplay:
    """Progress bar with the figures of the last epoch; it stays visible at the end of the run."""

    def __init__(self, console: Console, name: str, config: TrainConfig, legend: Sequence[str]) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"))
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console)
        self.name, self.legend = name, legend
        self.task = self.progress.add_task(self.name, total=config.epochs, figures="")

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Update the bar, which appears with the first batch."""
        self.progress.start()
        self.progress.update(self.task, completed=epoch - 1 + done / total)

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Show the figures of the epoch."""
        epoch = progress.history[-1]
        description = f"{progress.member or self.name}  epoch {epoch.number}/{config.epochs}"
        figures = f"{_figures(epoch)}  best epoch {progress.best_epoch}"
        if progress.member:
            figures, self.legend = _member_metric(epoch), ()  # which is about other figures
        self.progress.update(
            self.task, completed=epoch.number, total=config.epochs, figures=figures, description=description
        )

    def close(self) -> None:
        """Stop updating the bar, release the terminal, and print the legend if any figures were shown."""
        self.progress.stop()
        if self.progress.tasks[0].fields["figures"]:
            for line in self.legend:
                self.progress.console.print(line, highlight=False)
