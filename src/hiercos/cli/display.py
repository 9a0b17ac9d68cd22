"""How training goes, on stderr: a live line on a terminal, a plain line per epoch elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from hiercos.engine import Epoch, TrainConfig


def watcher(config: TrainConfig) -> LiveDisplay | PlainDisplay:
    """A display for one run, live where stderr is a terminal."""
    console = Console(stderr=True)
    return LiveDisplay(console, config) if console.is_terminal else PlainDisplay(config)


def _figures(epoch: Epoch) -> str:
    return f"loss {epoch.loss:.4f}  val top-1 {100 * epoch.top1:.2f}%  val HOPS {epoch.hops:.4f}"


class PlainDisplay:
    """One line per epoch, for logs and pipes."""

    def __init__(self, config: TrainConfig) -> None:
        self.name = f"{config.method} seed {config.seed}"
        self.start, self.done = time.monotonic(), 0

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Nothing is said of a single batch."""

    def epoch(self, epoch: Epoch, config: TrainConfig, *, is_best: bool) -> None:
        """Say what the epoch gave and how long the rest will take."""
        self.done += 1
        left = (time.monotonic() - self.start) / self.done * (config.epochs - epoch.number)
        mark = " *" if is_best else ""
        sys.stderr.write(
            f"{self.name}  epoch {epoch.number}/{config.epochs}  {_figures(epoch)}  {left:.0f} s left{mark}\n"
        )
        sys.stderr.flush()


class LiveDisplay:
    """A progress bar that carries the figures of the last epoch; it stays when the run is done."""

    def __init__(self, console: Console, config: TrainConfig) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"))
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console)
        self.name = f"{config.method} seed {config.seed}"
        self.task = self.progress.add_task(self.name, total=config.epochs, figures="")
        self.best = 0
        self.progress.start()

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Move the bar."""
        self.progress.update(self.task, completed=epoch - 1 + done / total)

    def epoch(self, epoch: Epoch, config: TrainConfig, *, is_best: bool) -> None:
        """Show what the epoch gave."""
        description = f"{self.name}  epoch {epoch.number}/{config.epochs}"
        self.best = epoch.number if is_best else self.best
        figures = f"{_figures(epoch)}  best epoch {self.best}"
        self.progress.update(self.task, completed=epoch.number, figures=figures, description=description)
        if epoch.number == config.epochs:
            self.progress.stop()
