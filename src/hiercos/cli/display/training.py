"""Progress of training on stderr: a live line or table on a terminal, else lines at intervals."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hiercos.cli.display.progress_table import ProgressTable
from hiercos.cli.options.groups import is_first_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hiercos.benchmark import Observer, Result, Task
    from hiercos.engine import Epoch, RunProgress, TrainConfig


INTERVAL = 10.0  # seconds between two lines in a log
BEST = "The weights of the best epoch, that with the highest top-1 on validation, are kept."
LAST = "The weights of the last epoch are kept."


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
        return PlainDisplay(task.name)

    def end(self, task: Task[Result], result: Result) -> None:
        """Do nothing: the last epoch has been printed."""


def _figures(epoch: Epoch) -> str:
    metrics = f"val log-loss {epoch.log_loss:.4f}  val top-1 {100 * epoch.top1:.2f}%  val HOPS {epoch.hops:.4f}"
    return f"loss {epoch.loss:.4f}  {metrics}"


def _shown_name(name: str, config: TrainConfig) -> str:
    """Name of a run, with the method of the member that is being trained if the run is a committee."""
    return name if config.method in name else f"{name}, {config.method}"


class PlainDisplay:
    """Progress callback that prints lines, for logs and pipes.

    A line holds the figures of an epoch: of the last one of a run or of a member of a committee, and of one at most
    every `INTERVAL` before.
    """

    def __init__(self, name: str, legend: Sequence[str] = ()) -> None:
        self.name, self.legend = name, legend
        self.start = self.printed = time.monotonic()
        self.done, self.waiting = 0, ""

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Ignore single batches."""

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Print the figures of the epoch and the estimated time left, if the last line is old enough."""
        self.done += 1
        epoch = progress.history[-1]
        left = (time.monotonic() - self.start) / self.done * (config.epochs - epoch.number)
        is_fixed = config.patience is None
        end = f"best epoch {progress.best_epoch}  {left:.0f} s left" if is_fixed else f"at most {left:.0f} s left"
        name = f"{_shown_name(self.name, config)}  epoch {epoch.number}/{config.epochs}"
        self.waiting = f"{name}  {_figures(epoch)}  {end}\n"
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
        description = f"{_shown_name(self.name, config)}  epoch {epoch.number}/{config.epochs}"
        figures = f"{_figures(epoch)}  best epoch {progress.best_epoch}"
        self.progress.update(self.task, completed=epoch.number, figures=figures, description=description)

    def close(self) -> None:
        """Stop updating the bar, release the terminal, and print the legend if any figures were shown."""
        self.progress.stop()
        if self.progress.tasks[0].fields["figures"]:
            for line in self.legend:
                self.progress.console.print(line, highlight=False)
