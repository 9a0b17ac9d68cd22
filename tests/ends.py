"""Processes that end at one of their file operations, as if they were killed there; the operation is not done."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENDED = 66  # exit code of a process that ended at its operation
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link")


def end_at(folder: Path, number: int) -> list[int]:
    """End this process before its operation of this number, from 1: a change of a name or file, or forcing to disk.

    Args:
        folder: folder whose files count.
        number: number of the operation; 0 to end nowhere.

    Returns:
        List of one number, that of the operations so far.
    """
    place, fsync, counter = str(folder), os.fsync, [0]

    def operation() -> None:
        counter[0] += 1
        if counter[0] == number:
            os._exit(ENDED)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes) and os.fsdecode(path).startswith(place) and flags & WRITING:
                operation()
        elif event in CHANGES and str(arguments[0]).startswith(place):
            operation()

    def counted(descriptor: int) -> None:
        operation()
        fsync(descriptor)

    os.fsync = counted
    sys.addaudithook(hook)
    return counter


def ends(work: Callable[[], object], folder: Path, number: int) -> bool:
    """Whether work in a child process ends at this operation on the files of a folder; False if it has fewer."""
    if not (child := os.fork()):
        code = 1
        try:
            end_at(folder, number)
            work()
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, ENDED)
    return code == ENDED
