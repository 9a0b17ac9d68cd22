"""Who is told how far a long pass over samples is."""

from typing import Protocol


class RowWatcher(Protocol):
    """Who is told how far the samples of a long pass are: a progress display, or nobody."""

    def start(self, done: int, total: int) -> None:
        """So many of all samples were done before."""

    def rows(self, done: int) -> None:
        """So many samples are done now."""

    def close(self) -> None:
        """The pass is over, however it ended."""
