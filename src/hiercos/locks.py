"""Locks of folders that one process writes to; a lock dies with its process. Plain Python, open to every package."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hiercos.errors import FaultsError
from hiercos.files import sweep_temporaries

try:
    import fcntl
except ImportError:  # Windows has no such locks: nobody waits, and nobody is refused
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


class LockError(FaultsError):
    """A folder that another process writes to."""


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is missing, and removed again if nothing was written.

    Temporary files of ended processes are removed. The operating system releases the lock when the process ends.

    Raises:
        LockError: if another process holds the lock; the message has its process id.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _held(folder / LOCK, wait=False):
            sweep_temporaries(folder, again=True)
            yield
    finally:
        if is_new:
            with suppress(OSError):  # it is no longer empty
                folder.rmdir()


@contextmanager
def waiting_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made for it and removed again; other processes wait for it."""
    with _held(path, wait=True):
        yield


def check_unlocked(folder: Path) -> None:
    """Raise a `LockError` if another process writes to a folder."""
    if (folder / LOCK).exists():
        with _held(folder / LOCK, wait=False):
            pass


@contextmanager
def _held(path: Path, *, wait: bool) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    descriptor = _acquired(path, wait=wait)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # while the lock is held: who opened the file before finds another one
        os.close(descriptor)


def _acquired(path: Path, *, wait: bool) -> int:
    """An open, locked file; its path may have been removed by the process that held the lock before: try again."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)  # never the file behind a link
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BlockingIOError as error:
            owner = os.read(descriptor, 20).decode(errors="replace") or "another process"
            os.close(descriptor)
            raise LockError(
                f"{path.parent}: process {owner} is writing to this folder; wait for it, or choose another folder"
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
