"""A value with large arrays, given to other processes through one memory-mapped file.

What describes the value is small and travels as bytes from process to process; the contents of its arrays and CPU
tensors are written once and mapped by every process that asks, so they are in memory once however many there are.
"""

import io
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import torch

from hiercos.engine import RunProgress, TrainConfig

ALIGNMENT = 64  # bytes: arrays start where vector instructions like them to


@dataclass(frozen=True)
class SharedValue:
    """A value whose arrays lie in a file; only for processes of one program, on one machine.

    Attributes:
        description: the value without the contents of its arrays.
        path: the file with these contents.
        spans: where each of them starts in the file, and its number of bytes.
    """

    description: bytes
    path: Path
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def write(cls, value: object, path: Path) -> "SharedValue":
        """Write the arrays and CPU tensors of a value, wherever in it they are, to a new file."""
        stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        _Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(value)
        spans = []
        with path.open("xb") as file:
            for buffer in buffers:
                file.write(bytes(-file.tell() % ALIGNMENT))
                spans.append((file.tell(), buffer.raw().nbytes))
                file.write(buffer.raw())
        return cls(stream.getvalue(), path, tuple(spans))

    def read(self) -> Any:
        """The value; a process that changes one of its arrays changes a copy of its own."""
        if not any(size for _, size in self.spans):
            return pickle.loads(self.description, buffers=[bytes(size) for _, size in self.spans])
        with self.path.open("rb") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return pickle.loads(self.description, buffers=[memory[start : start + size] for start, size in self.spans])


class _Pickler(pickle.Pickler):
    """Sends tensors as arrays, whose contents pickle hands out instead of copying them."""

    def reducer_override(self, value: object) -> Any:
        if type(value) is torch.Tensor and value.device.type == "cpu" and not value.requires_grad:
            return torch.from_numpy, (value.numpy(),)
        return NotImplemented


PATIENCE = 5.0  # seconds a process has to end by itself
PAUSE = 0.2  # seconds between two reports about batches
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # read by libraries as they are loaded


class WorkerError(RuntimeError):
    """A worker that is gone."""


@dataclass(frozen=True)
class Worker:
    """A process that performs one task at a time, seen from the process that started it."""

    process: SpawnProcess
    connection: Connection

    def send(self, value: object) -> None:
        """Send the data all tasks share first, then one task after the other."""
        try:
            self.connection.send(value)
        except OSError as error:
            raise self._gone("before its task") from error

    def message(self, name: str) -> tuple[str, Any]:
        """The next message, waiting for it: "batch" or "epoch" with a callback's arguments, or "done" with the result.

        Args:
            name: of what it is at.

        Raises:
            WorkerError: if the process is gone.
            Exception: whatever ended the task there.
        """
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._gone(f"during {name}") from error
        if kind == "failed":
            raise content
        return kind, content

    def _gone(self, when: str) -> WorkerError:
        self.process.join(PATIENCE)
        return WorkerError(f"a process ended {when} with code {self.process.exitcode}{self._likely_reason()}")

    def _likely_reason(self) -> str:
        if self.process.exitcode == -signal.SIGKILL:
            return ", killed, perhaps for want of memory: try fewer jobs"
        return '; a script that starts jobs does so under if __name__ == "__main__"'

    def end(self) -> None:
        """Let it end, by force if it does not."""
        self.connection.close()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@contextmanager
def start_workers(count: int) -> Iterator[list[Worker]]:
    """Processes with their share of this one's threads; they end with the context, at once where that fails."""
    threads = max(1, torch.get_num_threads() // count)
    workers: list[Worker] = []
    try:
        with _inherited(threads):
            workers += (_start(threads) for _ in range(count))
        yield workers
    except BaseException:
        for worker in workers:
            worker.process.terminate()
        raise
    finally:
        for worker in workers:
            worker.end()


def give_data(workers: Sequence[Worker], data: SharedValue) -> None:
    """Give all workers the data of their tasks; when this returns, they have mapped the file, which may be removed."""
    for worker in workers:
        worker.send(data)
    for worker in workers:
        worker.message("its start")


def _start(threads: int) -> Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, threads))
    process.start()
    theirs.close()  # so that the end of the process is the end of the pipe
    return Worker(process, ours)


@contextmanager
def _inherited(threads: int) -> Iterator[None]:
    """What processes started within inherit: a number of threads, and deafness to Ctrl-C, which is for us to hear."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, str(threads)))
    is_main = threading.current_thread() is threading.main_thread()  # others may not touch signals
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _work(connection: Connection, threads: int) -> None:
    """What a worker does: take the data, then tasks, until the pipe ends, which is how it is told to go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that half-written files are removed
    torch.set_num_threads(threads)
    try:
        data = connection.recv().read()
        connection.send(("done", None))
        while True:
            connection.send(_answer(connection.recv(), data, Reporter(connection)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _answer(task: Any, data: Any, reporter: "Reporter") -> tuple[str, Any]:
    try:
        from lightning_fabric import Fabric

        fabric = Fabric(accelerator="cpu", devices=1, precision=task.config.precision)
        fabric.launch()
        return "done", task(fabric, data, reporter)
    except Exception as error:  # whatever it was, it is raised where the worker was started
        return "failed", _portable(error)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note, or, if it cannot travel, another that says the same."""
    note = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
    except Exception:  # an error of any library may break in any way when it is rebuilt
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(note)
    return copy


class Reporter:
    """Training callback that passes on every epoch and some of the batches."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.told = connection, 0.0

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Tell it, unless the last report was just now."""
        if time.monotonic() - self.told >= PAUSE:
            self.told = time.monotonic()
            self.connection.send(("batch", (epoch, done, total)))

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Tell it."""
        self.connection.send(("epoch", (progress, config)))

    def close(self) -> None:
        """The end of the task says it."""
