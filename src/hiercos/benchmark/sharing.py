"""A value with large arrays, given to other processes through one memory-mapped file.

What describes the value is small and travels as bytes from process to process; the contents of its arrays and CPU
tensors are written once and mapped by every process that asks, so they are in memory once however many there are.
"""

import io
import mmap
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

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
