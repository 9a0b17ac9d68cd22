"""Progress of a pass over images or texts on stderr: a bar on a terminal, else a line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from hiercos.cli.options.groups import is_first_process

REPORT_INTERVAL = 10.0  # seconds between two plain lines


def row_progress(kind: str, doing: str) -> RowBar | RowLines | None:
    """A progress display: a bar if stderr is a terminal, else lines; None for vectors and in all but the first process.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "embedding".
    """
    if kind == "vectors" or not is_first_process():
        return None
    console = Console(stderr=True)
    return RowBar(console, kind, doing) if console.is_terminal else RowLines(kind, doing)


@contextmanager
def counting_rows(kind: str, doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of newly finished inputs, which updates a `row_progress` display.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "predicting".
        total: number of inputs; nothing is shown if it is unknown.
    """
    display = row_progress(kind, doing) if total is not None else None
    if display is None or total is None:
        yield lambda _: None
        return
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        display.rows(done)

    display.start(0, total)
    try:
        yield advance
    finally:
        display.close()


class Throughput:
    """Number of inputs per second since the start, without those that an earlier process finished."""

    def __init__(self, done: int) -> None:
        self.first, self.start = done, time.monotonic()

    def per_second(self, done: int) -> float:
        """The mean rate until now."""
        return (done - self.first) / max(time.monotonic() - self.start, 1e-9)


class RowLines:
    """A line every ten seconds and one at the end, for logs and pipes."""

    def __init__(self, kind: str, doing: str) -> None:
        self.kind, self.doing, self.total, self.done = kind, doing, 0, 0
        self.throughput, self.reported = Throughput(0), time.monotonic()

    def start(self, done: int, total: int) -> None:
        """Print the number of inputs that an earlier process finished, if any."""
        self.total, self.done, self.throughput = total, done, Throughput(done)
        if done:
            self._say(f"resuming: {done:,} of {total:,} {self.kind} are done")

    def rows(self, done: int) -> None:
        """Print the progress, at most once in `REPORT_INTERVAL` and at the end."""
        self.done = done
        if time.monotonic() - self.reported >= REPORT_INTERVAL or done == self.total:
            self.reported = time.monotonic()
            rate = self.throughput.per_second(done)
            left = f", {(self.total - done) / rate:.0f} s left" if done < self.total else ""
            self._say(f"{self.doing} {done:,}/{self.total:,} {self.kind}, {rate:.1f} {self.kind}/s{left}")

    def close(self) -> None:
        """Do nothing."""

    def _say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class RowBar:
    """A progress bar with the number of inputs per second; it stays visible at the end."""

    def __init__(self, console: Console, kind: str, doing: str) -> None:
        columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console)
        self.kind, self.throughput = kind, Throughput(0)
        self.task = self.progress.add_task("", rate="")

    def start(self, done: int, total: int) -> None:
        """Show the bar."""
        self.throughput = Throughput(done)
        self.progress.update(self.task, completed=done, total=total)
        self.progress.start()

    def rows(self, done: int) -> None:
        """Update the bar."""
        self.progress.update(self.task, completed=done, rate=f"{self.throughput.per_second(done):.1f} {self.kind}/s")

    def close(self) -> None:
        """Stop updating the bar and release the terminal."""
        self.progress.stop()


CHECK_INTERVAL = 10.0  # seconds between two lines


def checking_lines() -> Callable[[int, int], None] | None:
    """Callback that prints the number of checked images every ten seconds; None in all but the first process."""
    reported = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= CHECK_INTERVAL:
            reported = time.monotonic()
            sys.stderr.write(f"checked {done:,} of {total:,} images\n")
            sys.stderr.flush()

    return report if is_first_process() else None


TENTHS = 10


class TransferDisplay:
    """Progress callback of a download, called with the bytes received and expected; a context manager.

    Args:
        name: name of the file.
    """

    def __init__(self, name: str) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.live = Progress(*columns, TimeRemainingColumn(), console=console) if console.is_terminal else None
        self.task = self.live.add_task(name, total=None) if self.live else None
        self.name, self.said = name, 0

    def __enter__(self) -> TransferDisplay:
        if self.live:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, received: int, expected: int) -> None:
        """Update the bar, or print a line for each tenth."""
        if self.live and self.task is not None:
            self.live.update(self.task, completed=received, total=expected)
            return
        tenth = TENTHS * received // expected
        if tenth > self.said:
            self.said = tenth
            sys.stderr.write(f"{self.name}  {tenth * 100 // TENTHS}%\n")
            sys.stderr.flush()
