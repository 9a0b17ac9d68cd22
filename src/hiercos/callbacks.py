"""Callbacks that report progress. Plain Python, open to every package."""

from typing import Protocol


class ProgressCallback(Protocol):
    """Progress of a pass over samples, such as a display on the terminal."""

    def start(self, done: int, total: int) -> None:
        """Begin a pass over `total` samples, of which `done` were finished earlier."""

    def rows(self, done: int) -> None:
        """Report that `done` samples are finished."""

    def close(self) -> None:
        """End the pass, whether it finished or failed."""
