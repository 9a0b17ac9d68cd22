"""How training goes, on stderr: a live line on a terminal, a plain line per epoch elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hiercos.cli.groups import is_first_process

if TYPE_CHECKING:
    from hiercos.engine import Epoch, RunProgress, TrainConfig


def watcher(config: TrainConfig) -> LiveDisplay | PlainDisplay | None:
    """A display for one run, live where stderr is a terminal; none in any process but the first."""
    if not is_first_process():
        return None
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

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Say what the epoch gave and how long the rest will take."""
        self.done += 1
        epoch = progress.history[-1]
        left = (time.monotonic() - self.start) / self.done * (config.epochs - epoch.number)
        mark = " *" if epoch.number == progress.best_epoch else ""
        sys.stderr.write(
            f"{self.name}  epoch {epoch.number}/{config.epochs}  {_figures(epoch)}  {left:.0f} s left{mark}\n"
        )
        sys.stderr.flush()

    def close(self) -> None:
        """Nothing is open."""


class LiveDisplay:
    """A progress bar that carries the figures of the last epoch; it stays when the run is done."""

    def __init__(self, console: Console, config: TrainConfig) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"))
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console)
        self.name = f"{config.method} seed {config.seed}"
        self.task = self.progress.add_task(self.name, total=config.epochs, figures="")

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Move the bar, which appears with the first batch."""
        self.progress.start()
        self.progress.update(self.task, completed=epoch - 1 + done / total)

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Show what the epoch gave."""
        epoch = progress.history[-1]
        description = f"{self.name}  epoch {epoch.number}/{config.epochs}"
        figures = f"{_figures(epoch)}  best epoch {progress.best_epoch}"
        self.progress.update(self.task, completed=epoch.number, figures=figures, description=description)

    def close(self) -> None:
        """Leave the bar as it is and give the terminal back."""
        self.progress.stop()
