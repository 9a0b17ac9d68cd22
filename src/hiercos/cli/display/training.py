"""Progress of training on stderr: of one run, or of all runs of a comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import fmean
from typing import TYPE_CHECKING, Self

from rich.console import Console

from hiercos.cli.display.row_progress import Progress
from hiercos.cli.options.groups import is_first_process

if TYPE_CHECKING:
    from types import TracebackType

    from hiercos.benchmark import Observer, Outcome, Task
    from hiercos.training import Epoch, RunProgress, Settings

BEST = "The weights of the best epoch on validation, by top-1 or with several labels by average precision, are kept."
LAST = "The weights of the last epoch are kept."


def training_callback(settings: Settings) -> RunDisplay | None:
    """A progress display for one run that ends with an explanation of its figures; None but in the first process."""
    name = f"{settings.method} seed {settings.seed}"
    return RunDisplay(name, explains=True) if is_first_process() else None


def observer(methods: Sequence[str], *, seeds: int, trials: int) -> AbstractContextManager[Observer | None]:
    """A progress display for a comparison; None in all but the first process.

    Args:
        methods: names of the methods.
        seeds: number of runs of each method.
        trials: number of trials of each method's search; 0 for none.
    """
    return ComparisonDisplay(methods, seeds + trials) if is_first_process() else nullcontext()


class RunDisplay:
    """Progress callback of a run: its epoch with figures, and the name of the part or member that is trained.

    Args:
        name: name of the run.
        explains: whether sentences about the figures follow at the end.
        is_one_of_many: whether lines of other runs appear beside these, so that those of a part need the name, too.
        console: console to print to; stderr by default.
    """

    def __init__(
        self, name: str, *, explains: bool = False, is_one_of_many: bool = False, console: Console | None = None
    ) -> None:
        self.name, self.explains, self.prefix = name, explains, f"{name}, " if is_one_of_many else ""
        self.progress = Progress(console)
        self.row, self.text = self.progress.row(name), ""
        self.first, self.part = time.monotonic(), ""
        self.kept, self.ruled = "", ""  # sentences on the weights, and on the figures

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Update the bar."""
        if self.progress.console.is_terminal:
            self.row.show(self.text, epoch - 1 + done / total)

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        """Show the figures of the epoch, and the time left."""
        last, most = progress.history[-1], config.most_epochs
        if last.number == 1 or progress.member != self.part:
            self.first, self.part = time.monotonic() - last.seconds, progress.member
        self.text, place = figures(last), f"epoch {last.number}/{most}"
        self.kept = "" if progress.member else BEST if config.patience is None else LAST
        if not progress.member and not math.isnan(last.hops) and config.rule not in (None, "none"):
            self.ruled = f"val HOPS is without the rule {config.rule}; the results are with it."
        if progress.member:
            line = f"{self.prefix}{progress.member}: {place}, {member_figure(last)}"
        else:
            left = (time.monotonic() - self.first) / last.number * (most - last.number)
            is_fixed = config.patience is None
            end = f"best epoch {progress.best_epoch}  {left:.0f} s left" if is_fixed else f"at most {left:.0f} s left"
            line = f"{self.name}  {place}  {self.text}  {end}"
        named = f"{self.prefix}{progress.member}" if progress.member else self.name
        self.row.named(f"{named}  {place}").show(self.text, last.number, most, line=line)

    def close(self) -> None:
        """Print what is left to print, then once, if any figures were shown, the sentences about them."""
        self.progress.close()
        for line in filter(None, [self.kept, self.ruled] if self.explains else ()):
            self.progress.say(line)
        self.kept = self.ruled = ""


class ComparisonDisplay:
    """Observer of a comparison: a bar for each method on a terminal, else lines of every run.

    Args:
        methods: names of the methods.
        total: number of runs and trials of each method.
        console: console to print to; stderr by default.
    """

    def __init__(self, methods: Sequence[str], total: int, console: Console | None = None) -> None:
        self.progress = Progress(console)
        self.methods = {name: MethodRow(self.progress, name, total) for name in methods}
        self.begun: set[str] = set()  # names of the tasks of this process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.close()

    def begin(self, task: Task) -> RunDisplay | TaskCallback:
        """Progress display of a task."""
        if not self.progress.console.is_terminal:
            self.begun.add(task.name)
            return RunDisplay(task.name, is_one_of_many=True, console=self.progress.console)
        return self.methods[task.method].begin(task)

    def end(self, task: Task, outcome: Outcome) -> None:
        """Handle the end of a task of any process; lines of those of this one are printed already."""
        if self.progress.console.is_terminal:
            self.methods[task.method].end(task, outcome)
        elif task.name not in self.begun:
            found = outcome.fault if outcome.progress is None else figures(outcome.progress.best)
            self.progress.say(f"{task.name}  {found}")


class MethodRow:
    """The bar of a method: tasks that are done, mean metrics of its runs (before any, of its best trial), epochs."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        self.row = progress.row(name, total)
        self.running: dict[str, TaskCallback] = {}
        self.done: dict[str, list[tuple[float, float]]] = {"trial": [], "seed": []}

    def begin(self, task: Task) -> TaskCallback:
        """Progress callback of a task."""
        self.running[task.name] = TaskCallback(self, task.run)
        self.show()
        return self.running[task.name]

    def end(self, task: Task, outcome: Outcome) -> None:
        """Count a finished task."""
        self.running.pop(task.name, None)
        best = None if outcome.progress is None else outcome.progress.best
        kind = "trial" if task.folder is None else "seed"
        self.done[kind].append((math.nan, math.nan) if best is None else (best.top1, best.hops))
        self.show()

    def show(self) -> None:
        """Update the bar."""
        done = sum(map(len, self.done.values())) + sum(task.share for task in self.running.values())
        self.row.show("  ".join(filter(None, [self._means(), *map(str, self.running.values())])), done)

    def _means(self) -> str:
        known = {kind: [each for each in found if not math.isnan(each[1])] for kind, found in self.done.items()}
        if known["seed"]:
            top1, hops = (fmean(values) for values in zip(*known["seed"], strict=True))
        elif known["trial"]:
            top1, hops = max(known["trial"], key=lambda each: each[1])
        else:
            return ""
        return f"val top-1 {100 * top1:.2f}%  val HOPS {hops:.4f}"


class TaskCallback:
    """Training callback that shows the epoch of a task in the bar of its method."""

    def __init__(self, row: MethodRow, name: str) -> None:
        self.row, self.name, self.place, self.share = row, name, "", 0.0

    def __str__(self) -> str:
        return f"{self.name}: {self.place}" if self.place else self.name

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Ignore single batches."""

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        """Show the epoch, and the share of the first fit that is done."""
        last = progress.history[-1]
        self.place = f"{progress.member} {last.number}/{config.most_epochs}".strip()
        if not progress.member:
            self.share = last.number / config.most_epochs
        self.row.show()

    def close(self) -> None:
        """Do nothing: `ComparisonDisplay.end` removes the task."""


def figures(epoch: Epoch) -> str:
    """Loss, and metrics on validation, of an epoch; the loss alone without validation."""
    if not math.isnan(epoch.average_precision):  # samples with several labels
        return f"loss {epoch.loss:.4f}  val average precision {epoch.average_precision:.4f}"
    if math.isnan(epoch.top1):
        return f"loss {epoch.loss:.4f}"
    metrics = f"val log-loss {epoch.log_loss:.4f}  val top-1 {100 * epoch.top1:.2f}%  val HOPS {epoch.hops:.4f}"
    return f"loss {epoch.loss:.4f}  {metrics}"


def member_figure(epoch: Epoch) -> str:
    """Top-1 on validation; the training loss without validation."""
    return f"loss {epoch.loss:.4f}" if math.isnan(epoch.top1) else f"val top-1 {100 * epoch.top1:.2f}%"
