"""How far a pass over images or texts is, on stderr: a bar on a terminal, a plain line now and then elsewhere."""

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

EVERY = 10.0  # seconds between two plain lines


def row_progress(kind: str, doing: str) -> RowBar | RowLines | None:
    """A display, a bar where stderr is a terminal; none in any process but the first, and none for vectors.

    Args:
        kind: of the inputs.
        doing: what is done with them, such as "embedding".
    """
    if kind == "vectors" or not is_first_process():
        return None
    console = Console(stderr=True)
    return RowBar(console, kind, doing) if console.is_terminal else RowLines(kind, doing)


@contextmanager
def counting_rows(kind: str, doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that is told how many more inputs are done, shown as `row_progress` shows it.

    Args:
        kind: kind of the inputs.
        doing: what is done with them, such as "predicting".
        total: number of inputs; nothing is shown where it is unknown.
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


class Pace:
    """How many inputs a second, since the start or since an earlier process was gone on with."""

    def __init__(self, done: int) -> None:
        self.first, self.start = done, time.monotonic()

    def per_second(self, done: int) -> float:
        """So many up to now."""
        return (done - self.first) / max(time.monotonic() - self.start, 1e-9)


class RowLines:
    """A line every ten seconds and one at the end, for logs and pipes."""

    def __init__(self, kind: str, doing: str) -> None:
        self.kind, self.doing, self.total, self.done = kind, doing, 0, 0
        self.pace, self.told = Pace(0), time.monotonic()

    def start(self, done: int, total: int) -> None:
        """Say where it goes on, if an earlier process has begun."""
        self.total, self.done, self.pace = total, done, Pace(done)
        if done:
            self._say(f"{done:,} of {total:,} {self.kind} were done before; going on")

    def rows(self, done: int) -> None:
        """Say how far it is, if it was not said just now."""
        self.done = done
        if time.monotonic() - self.told >= EVERY or done == self.total:
            self.told = time.monotonic()
            rate = self.pace.per_second(done)
            left = f", {(self.total - done) / rate:.0f} s left" if done < self.total else ""
            self._say(f"{self.doing} {done:,}/{self.total:,} {self.kind}, {rate:.1f} {self.kind}/s{left}")

    def close(self) -> None:
        """Nothing is open."""

    def _say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class RowBar:
    """A progress bar with the number of inputs a second; it stays when all are done."""

    def __init__(self, console: Console, kind: str, doing: str) -> None:
        columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console)
        self.kind, self.pace = kind, Pace(0)
        self.task = self.progress.add_task("", rate="")

    def start(self, done: int, total: int) -> None:
        """Show the bar."""
        self.pace = Pace(done)
        self.progress.update(self.task, completed=done, total=total)
        self.progress.start()

    def rows(self, done: int) -> None:
        """Move it."""
        self.progress.update(self.task, completed=done, rate=f"{self.pace.per_second(done):.1f} {self.kind}/s")

    def close(self) -> None:
        """Leave it as it is and give the terminal back."""
        self.progress.stop()


CHECKED_EVERY = 10.0  # seconds between two lines


def checking_lines() -> Callable[[int, int], None] | None:
    """Says how many images are checked, if it takes longer than ten seconds; None in any process but the first."""
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= CHECKED_EVERY:
            told = time.monotonic()
            sys.stderr.write(f"checked {done:,} of {total:,} images\n")
            sys.stderr.flush()

    return tell if is_first_process() else None


TENTHS = 10


class TransferDisplay:
    """Called with the bytes received and expected; to be used in a `with` statement.

    Args:
        name: of the file.
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
        """Show so much of the bar, or say the next tenth."""
        if self.live and self.task is not None:
            self.live.update(self.task, completed=received, total=expected)
            return
        tenth = TENTHS * received // expected
        if tenth > self.said:
            self.said = tenth
            sys.stderr.write(f"{self.name}  {tenth * 100 // TENTHS}%\n")
            sys.stderr.flush()
