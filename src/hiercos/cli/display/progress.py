"""Progress of trainings and passes over rows, on stderr: bars on a terminal, else a line at most every ten seconds."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import fmean
from types import TracebackType
from typing import TYPE_CHECKING, Self

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from hiercos.cli.options.groups import is_first_process

if TYPE_CHECKING:
    from hiercos.benchmark import Observer, Outcome, Task
    from hiercos.training import Epoch, RunProgress, Settings

INTERVAL = 10.0  # seconds between two lines of a row
BEST = "The weights of the best epoch on validation, by top-1 or with several labels by average precision, are kept."
LAST = "The weights of the last epoch are kept."


class Progress:
    """Rows of progress, which stay visible at the end; a context manager.

    Args:
        console: console to print to; stderr by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
        self.bars = rich.progress.Progress(*columns, TimeRemainingColumn(), console=self.console)
        self.begun: list[ProgressRow] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def row(self, name: str, total: float | None = None) -> ProgressRow:
        """A new row."""
        self.begun.append(ProgressRow(self, name, total))
        return self.begun[-1]

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Print what is left to print, and release the terminal."""
        for row in self.begun:
            row.flush()
        if self.bars.live.is_started:
            self.bars.stop()


class ProgressRow:
    """One row of progress: a bar on a terminal, else lines.

    Args:
        progress: progress that it belongs to.
        name: name of the row.
        total: number of steps; None for an unknown one.
    """

    def __init__(self, progress: Progress, name: str, total: float | None) -> None:
        self.progress, self.waiting, self.printed = progress, "", time.monotonic()
        self.task = progress.bars.add_task(name, total=total, text="")

    def show(
        self,
        text: str,
        done: float | None = None,
        total: float | None = None,
        *,
        line: str | None = None,
        name: str | None = None,
    ) -> None:
        """Show the state of the row.

        Args:
            text: text beside the bar.
            done: number of steps that are done; None if it is unchanged.
            total: number of steps; None if it is unchanged.
            line: text of a line, where there is no bar; `text` by default.
            name: new name of the row; None if it is unchanged.
        """
        if self.progress.console.is_terminal:
            self.progress.bars.start()
            self.progress.bars.update(self.task, completed=done, total=total, description=name, text=text)
            return
        self.waiting = text if line is None else line
        if time.monotonic() - self.printed >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Print the last line unless it was printed."""
        if self.waiting:
            self.progress.say(self.waiting)
            self.waiting, self.printed = "", time.monotonic()

    def remove(self) -> None:
        """Print the last line, and remove the bar."""
        self.flush()
        self.progress.begun.remove(self)
        self.progress.bars.remove_task(self.task)


class RowProgress(Progress):
    """Progress callback of a pass over inputs, with their number per second since the pass began.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "embedding".
    """

    def __init__(self, kind: str, doing: str) -> None:
        super().__init__()
        self.kind, self.doing, self.inputs = "rows" if kind == "columns" else kind, doing, self.row(doing)
        self.first, self.total, self.begin = 0, 0, time.monotonic()

    def start(self, done: int, total: int) -> None:
        """Begin with the number of inputs that an earlier process finished."""
        self.first, self.total, self.begin = done, total, time.monotonic()
        if done:
            self.say(f"resuming: {done:,} of {total:,} {self.kind} are done")

    def rows(self, done: int) -> None:
        """Show the number of inputs that are done."""
        rate = (done - self.first) / max(time.monotonic() - self.begin, 1e-9)
        left = f", {(self.total - done) / rate:.0f} s left" if done < self.total and rate else ""
        text = f"{done:,}/{self.total:,} {self.kind}, {rate:.1f} {self.kind}/s after loading"
        self.inputs.show(text, done, self.total, line=f"{self.doing} {text}{left}")


def row_progress(kind: str, doing: str) -> RowProgress | None:
    """A progress display of a pass over inputs; None for vectors and in all but the first process.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "embedding".
    """
    return None if kind == "vectors" or not is_first_process() else RowProgress(kind, doing)


@contextmanager
def counting_rows(kind: str, doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of newly finished inputs, which updates a `row_progress` display.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "predicting".
        total: number of inputs; nothing is shown if it is unknown.
    """
    display, done = row_progress(kind, doing), 0
    if display is None or total is None:
        yield lambda _: None
        return

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        display.rows(done)

    with display:
        display.start(0, total)
        yield advance


def checking_lines() -> Callable[[int, int], None] | None:
    """Callback that prints the number of checked images every ten seconds; None in all but the first process."""
    if not is_first_process():
        return None
    progress = Progress()
    row = progress.row("checking")

    def report(done: int, total: int) -> None:
        row.show(f"{done:,} of {total:,} images", done, total, line=f"checked {done:,} of {total:,} images")
        if done == total:
            row.waiting = ""  # a quick check says nothing
            progress.close()

    return report


class TransferDisplay(Progress):
    """Progress callback of a download, called with the bytes received and expected; a context manager.

    Args:
        name: name of the file.
        console: console to print to; stderr by default.
    """

    def __init__(self, name: str, console: Console | None = None) -> None:
        super().__init__(console)
        self.name, self.file = name, self.row(name)

    def __call__(self, received: int, expected: int) -> None:
        """Show the number of bytes."""
        text = f"{received / 1e6:.1f}/{expected / 1e6:.1f} MB"
        self.file.show(text, received, expected, line=f"{self.name}  {text}")


class RunDisplay:
    """Progress callback of a run: its epoch with figures, and the name of the part or member that is trained.

    Args:
        name: name of the run.
        within: progress of a comparison, in which the run is one row; None for a progress of its own, at whose end
            sentences about the figures follow.
        console: console of a progress of its own; stderr by default.
    """

    def __init__(self, name: str, *, within: Progress | None = None, console: Console | None = None) -> None:
        self.name, self.is_alone, self.prefix = name, within is None, f"{name}, " if within else ""
        self.progress = within or Progress(console)
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
        self.row.show(self.text, last.number, most, line=line, name=f"{named}  {place}")

    def close(self) -> None:
        """Print what is left to print, then once, if any figures were shown, the sentences about them."""
        if self.is_alone:
            self.progress.close()
            for line in filter(None, [] if sys.exc_info()[1] else [self.kept, self.ruled]):  # an error keeps no model
                self.progress.say(line)
            self.kept = self.ruled = ""


class ComparisonDisplay(Progress):
    """Observer of a comparison: a row for each method and one for the run of this process.

    Args:
        methods: names of the methods.
        total: number of runs and trials of each method.
        console: console to print to; stderr by default.
    """

    def __init__(self, methods: Sequence[str], total: int, console: Console | None = None) -> None:
        super().__init__(console)
        self.methods = {name: self.row(name, total) for name in methods}
        self.found: dict[str, list[tuple[bool, float, float]]] = {name: [] for name in methods}
        self.here: dict[str, RunDisplay] = {}  # by name of the task

    def begin(self, task: Task) -> RunDisplay:
        """Progress callback of a task of this process."""
        self.here[task.name] = RunDisplay(task.name, within=self)
        return self.here[task.name]

    def end(self, task: Task, outcome: Outcome) -> None:
        """Count a finished task of any process; lines of those of this one are printed already."""
        best = None if outcome.progress is None else outcome.progress.best
        found = self.found[task.method]
        found.append((task.folder is None, *((math.nan, math.nan) if best is None else (best.top1, best.hops))))
        self.methods[task.method].show(mean_figures(found), len(found), line="")
        if run := self.here.pop(task.name, None):
            run.row.remove()
        elif not self.console.is_terminal:
            self.say(f"{task.name}  {outcome.fault if best is None else figures(best)}")


def training_callback(settings: Settings) -> RunDisplay | None:
    """A progress display for one run that ends with an explanation of its figures; None but in the first process."""
    return RunDisplay(f"{settings.method} seed {settings.seed}") if is_first_process() else None


def observer(methods: Sequence[str], *, seeds: int, trials: int) -> AbstractContextManager[Observer | None]:
    """A progress display for a comparison; None in all but the first process.

    Args:
        methods: names of the methods.
        seeds: number of runs of each method.
        trials: number of trials of each method's search; 0 for none.
    """
    return ComparisonDisplay(methods, seeds + trials) if is_first_process() else nullcontext()


def figures(epoch: Epoch) -> str:
    """Loss, and metrics on validation, of an epoch; the loss alone without validation, none of a solver."""
    if not math.isnan(epoch.average_precision):  # samples with several labels
        return f"loss {epoch.loss:.4f}  val average precision {epoch.average_precision:.4f}"
    if math.isnan(epoch.top1):
        return f"loss {epoch.loss:.4f}"
    metrics = f"val log-loss {epoch.log_loss:.4f}  val top-1 {100 * epoch.top1:.2f}%  val HOPS {epoch.hops:.4f}"
    return metrics if math.isnan(epoch.loss) else f"loss {epoch.loss:.4f}  {metrics}"


def member_figure(epoch: Epoch) -> str:
    """Top-1 on validation; the training loss without validation."""
    return f"loss {epoch.loss:.4f}" if math.isnan(epoch.top1) else f"val top-1 {100 * epoch.top1:.2f}%"


def mean_figures(found: Sequence[tuple[bool, float, float]]) -> str:
    """Mean metrics on validation of the runs of a method; before any, those of its best trial.

    Args:
        found: for each finished task whether it was a trial, its top-1 and its HOPS, nan without validation.
    """
    runs, trials = ([each[1:] for each in found if each[0] == kind and each[2] == each[2]] for kind in (False, True))
    if not runs and not trials:
        return ""
    top1, hops = map(fmean, zip(*runs, strict=True)) if runs else max(trials, key=lambda each: each[1])
    return f"val top-1 {100 * top1:.2f}%  val HOPS {hops:.4f}"
