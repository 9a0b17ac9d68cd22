"""Time slices of the CPU shared by several hiercos processes of one user.

Two processes with a thread for every core slow each other many times over: at each parallel loop, threads that are done
spin on the cores that the others need. With turns, one of them computes for a moment with all its threads while the
other sleeps. The results do not depend on it. Every package may import this module.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

try:
    import fcntl
except ImportError:  # Windows has no such locks: no turns are taken
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")
SECONDS = 0.05  # a turn lasts at least as long if there is more to do
LONGEST_WAIT = 1.0  # seconds, after which a process computes without a turn: the other may be stopped
PAUSE = 60.0  # seconds without turns after such a wait
POLL = 0.001


class CpuTurns:
    """Turns on the CPU that the processes with the same folder take.

    A process whose turn it is holds the lock of the file `turn`; the one that comes next holds that of `next`.

    Args:
        folder: folder of the two files; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._turn, self._next = (
            os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in ("turn", "next")
        )
        self._without_until = 0.0

    def begin(self) -> None:
        """Wait for a turn, but not for longer than `LONGEST_WAIT`."""
        if time.monotonic() < self._without_until:
            return
        latest = time.monotonic() + LONGEST_WAIT
        if not (_lock(self._next, latest) and _lock(self._turn, latest)):
            self._without_until = time.monotonic() + PAUSE
        fcntl.flock(self._next, fcntl.LOCK_UN)

    def end(self) -> None:
        """End the turn."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """End the turn and take no more."""
        os.close(self._turn)
        os.close(self._next)


def _lock(descriptor: int, latest: float) -> bool:
    """Whether a lock was acquired in time."""
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > latest:
            return False
        time.sleep(POLL)


_shared: CpuTurns | None = None  # of this process; None where it takes no turns


def share_cores(environment: Mapping[str, str]) -> None:
    """Let this process take turns with others of the same user from now on, unless two such fit on the cores.

    Args:
        environment: environment variables, of which OMP_NUM_THREADS sets the number of threads.
    """
    global _shared  # noqa: PLW0603  # the cores of a process are one thing
    cores = os.cpu_count() or 1
    first = environment.get("OMP_NUM_THREADS", "").split(",")[0]
    threads = int(first) if first.isdecimal() else cores
    if fcntl is not None and 2 * threads > cores > 1:
        with suppress(OSError, RuntimeError):  # no home folder, or none that can be written to: no turns
            _shared = CpuTurns(Path.home() / ".cache" / "hiercos" / "cores")


@contextmanager
def cpu_turn() -> Iterator[None]:
    """Compute in a turn of this process."""
    turns = _shared
    if turns is None:
        yield
        return
    turns.begin()
    try:
        yield
    finally:
        turns.end()


def in_turns(parts: Iterable[T]) -> Iterator[T]:
    """Yield the parts of a computation; each is made and used in a turn of this process, of at least `SECONDS`."""
    turns = _shared
    if turns is None:
        yield from parts
        return
    iterator = iter(parts)
    try:
        while True:
            turns.begin()
            since = time.monotonic()
            while time.monotonic() - since < SECONDS:
                try:
                    part = next(iterator)
                except StopIteration:
                    return
                yield part
            turns.end()
    finally:
        turns.end()
