"""How a download goes, on stderr: a bar on a terminal, a plain line for every tenth elsewhere."""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

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

    def __enter__(self) -> "TransferDisplay":
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
