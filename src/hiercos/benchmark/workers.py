"""Worker processes, and values with large arrays shared with them through one memory-mapped file.

The pickled value without its arrays is small and is sent as bytes; the contents of its arrays and CPU tensors are
written to a file once and mapped by every worker, so they are in memory once for any number of workers.
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
from hiercos.files import named_when_full

ALIGNMENT = 64  # bytes; start of each array, for aligned vector instructions


@dataclass(frozen=True)
class SharedValue:
    """A value whose arrays are stored in a file; only for processes of one program, on one machine.

    Attributes:
        description: pickled value without the contents of its arrays.
        path: file with these contents.
        spans: start in the file and number of bytes of each array.
    """

    description: bytes
    path: Path
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def write(cls, value: object, path: Path) -> "SharedValue":
        """Write all arrays and CPU tensors of a (nested) value to a new file."""
        stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        _Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(value)
        spans = []
        with named_when_full(path), path.open("xb") as file:
            for buffer in buffers:
                file.write(bytes(-file.tell() % ALIGNMENT))
                spans.append((file.tell(), buffer.raw().nbytes))
                file.write(buffer.raw())
        return cls(stream.getvalue(), path, tuple(spans))

    def read(self) -> Any:
        """The value; its arrays are mapped copy-on-write, so changes stay in this process."""
        if not any(size for _, size in self.spans):
            return pickle.loads(self.description, buffers=[bytes(size) for _, size in self.spans])
        with self.path.open("rb") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return pickle.loads(self.description, buffers=[memory[start : start + size] for start, size in self.spans])


class _Pickler(pickle.Pickler):
    """Pickles tensors as arrays, so that their contents become out-of-band buffers instead of copies."""

    def reducer_override(self, value: object) -> Any:
        if type(value) is torch.Tensor and value.device.type == "cpu" and not value.requires_grad:
            return torch.from_numpy, (value.numpy(),)
        return NotImplemented


JOIN_TIMEOUT = 5.0  # seconds a process has to end by itself
REPORT_INTERVAL = 0.2  # seconds between two progress reports about batches
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # read by libraries as they are loaded


class WorkerError(RuntimeError):
    """A worker process that ended unexpectedly."""


@dataclass(frozen=True)
class Worker:
    """Handle of a worker process, which runs one task at a time."""

    process: SpawnProcess
    connection: Connection

    def send(self, value: object) -> None:
        """Send the shared data first, then one task after the other."""
        try:
            self.connection.send(value)
        except OSError as error:
            raise self._gone("before its task") from error

    def message(self, name: str) -> tuple[str, Any]:
        """Wait for the next message: "batch" or "epoch" with the arguments of the callback, or "done" with the result.

        Args:
            name: name of the current task, for error messages.

        Raises:
            WorkerError: if the process has ended.
            Exception: the error that ended the task in the worker.
        """
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError) as error:
            raise self._gone(f"during {name}") from error
        if kind == "failed":
            raise content
        return kind, content

    def _gone(self, when: str) -> WorkerError:
        self.process.join(JOIN_TIMEOUT)
        return WorkerError(f"a process ended {when} with code {self.process.exitcode}{self._likely_reason()}")

    def _likely_reason(self) -> str:
        if self.process.exitcode == -signal.SIGKILL:
            return ", killed, perhaps because memory ran out: try fewer jobs"
        return '; a script that starts jobs does so under if __name__ == "__main__"'

    def end(self) -> None:
        """End the process, by force if it does not end by itself."""
        self.connection.close()
        self.process.join(JOIN_TIMEOUT)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@contextmanager
def start_workers(count: int) -> Iterator[list[Worker]]:
    """Worker processes with an equal share of this one's threads; they end with the context, at once if it fails."""
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


def send_data(workers: Sequence[Worker], data: SharedValue) -> None:
    """Send all workers the shared data; on return they have mapped the file, so it may be deleted."""
    for worker in workers:
        worker.send(data)
    for worker in workers:
        worker.message("its start")


def _start(threads: int) -> Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, threads))
    process.start()
    theirs.close()  # so that the pipe closes when the process ends
    return Worker(process, ours)


@contextmanager
def _inherited(threads: int) -> Iterator[None]:
    """Environment for starting workers: their number of threads, and Ctrl-C ignored (the main process handles it)."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, str(threads)))
    is_main = threading.current_thread() is threading.main_thread()  # only the main thread may set signal handlers
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _work(connection: Connection, threads: int) -> None:
    """Main loop of a worker: receive the data, then tasks, until the pipe is closed."""
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
    except Exception as error:  # sent to the main process and raised there
        return "failed", _portable(error)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note, or a RuntimeError with the same text if it cannot be pickled."""
    note = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
    except Exception:  # unpickling an error of another library may fail in any way
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(note)
    return copy


class Reporter:
    """Progress callback that sends its calls to the main process, at most one about batches per interval."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.reported = connection, 0.0

    def batch(self, epoch: int, done: int, total: int) -> None:
        """Send the progress, unless the last report was less than `REPORT_INTERVAL` ago."""
        if time.monotonic() - self.reported >= REPORT_INTERVAL:
            self.reported = time.monotonic()
            self.connection.send(("batch", (epoch, done, total)))

    def epoch(self, progress: RunProgress, config: TrainConfig) -> None:
        """Send the progress."""
        self.connection.send(("epoch", (progress, config)))

    def close(self) -> None:
        """Do nothing: the main process closes its callback when the task ends."""
