"""Progress on stderr: bars on a terminal, else a line at most every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from hiercos.cli.options.groups import is_first_process

INTERVAL = 10.0  # seconds between two lines of a row


class Progress:
    """Rows of progress, which stay visible at the end; a context manager.

    Args:
        console: console to print to; stderr by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
        self.bars = rich.progress.Progress(*columns, TimeRemainingColumn(), console=self.console)
        self.rows: list[Row] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def row(self, name: str, total: float | None = None) -> Row:
        """A new row."""
        self.rows.append(Row(self, name, total))
        return self.rows[-1]

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Print what is left to print, and release the terminal."""
        for row in self.rows:
            row.flush()
        if self.bars.live.is_started:
            self.bars.stop()


class Row:
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
        self, text: str, done: float | None = None, total: float | None = None, *, line: str | None = None
    ) -> None:
        """Show the state of the row.

        Args:
            text: text beside the bar.
            done: number of steps that are done; None if it is unchanged.
            total: number of steps; None if it is unchanged.
            line: text of a line, where there is no bar; `text` by default.
        """
        if self.progress.console.is_terminal:
            self.progress.bars.start()
            self.progress.bars.update(self.task, completed=done, total=total, text=text)
            return
        self.waiting = text if line is None else line
        if time.monotonic() - self.printed >= INTERVAL:
            self.flush()

    def named(self, name: str) -> Self:
        """The same row under another name."""
        self.progress.bars.update(self.task, description=name)
        return self

    def flush(self) -> None:
        """Print the last line unless it was printed."""
        if self.waiting:
            self.progress.say(self.waiting)
            self.waiting, self.printed = "", time.monotonic()


def row_progress(kind: str, doing: str) -> RowProgress | None:
    """A progress display of a pass over inputs; None for vectors and in all but the first process.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "embedding".
    """
    return None if kind == "vectors" or not is_first_process() else RowProgress(kind, doing)


class RowProgress:
    """Progress callback of a pass over inputs, with their number per second."""

    def __init__(self, kind: str, doing: str, console: Console | None = None) -> None:
        self.kind, self.progress = kind, Progress(console)
        self.row, self.doing = self.progress.row(doing), doing
        self.first, self.total, self.begin = 0, 0, time.monotonic()

    def start(self, done: int, total: int) -> None:
        """Begin with the number of inputs that an earlier process finished."""
        self.first, self.total, self.begin = done, total, time.monotonic()
        if done:
            self.progress.say(f"resuming: {done:,} of {total:,} {self.kind} are done")

    def rows(self, done: int) -> None:
        """Show the number of inputs that are done."""
        rate = (done - self.first) / max(time.monotonic() - self.begin, 1e-9)
        left = f", {(self.total - done) / rate:.0f} s left" if done < self.total and rate else ""
        text = f"{done:,}/{self.total:,} {self.kind}, {rate:.1f} {self.kind}/s"
        self.row.show(text, done, self.total, line=f"{self.doing} {text}{left}")

    def close(self) -> None:
        """Print what is left to print, and release the terminal."""
        self.progress.close()


@contextmanager
def counting_rows(kind: str, doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of newly finished inputs, which updates a `row_progress` display.

    Args:
        kind: kind of the inputs.
        doing: name of the operation, such as "predicting".
        total: number of inputs; nothing is shown if it is unknown.
    """
    display = row_progress(kind, doing)
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
