"""Devices: one process on one device by name, the random state, and turns on the cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

import torch

from hiercos.options import check_choice
from hiercos.turns import in_turns

if TYPE_CHECKING:
    from lightning_fabric import Fabric

T = TypeVar("T")


def launched(device: str) -> Fabric:
    """A launched Fabric of one process on a device: "auto", "cpu", "cuda" or "mps".

    Raises:
        ValueError: for another name, or a device that is not available.
    """
    present = {"auto": True, "cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    check_choice("device", device, present)
    if not present[device]:
        raise ValueError(f"expected an available device, got {device!r}")
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator=device, devices=1)
    fabric.launch()
    return fabric


def random_state_kept() -> AbstractContextManager[None]:
    """Context manager that restores torch's random state on CPU and GPUs at its end."""
    return torch.random.fork_rng(devices=range(torch.cuda.device_count()))


def in_cpu_turns(fabric: Fabric, parts: Iterable[T]) -> Iterator[T]:
    """Parts of a computation, see `in_turns`; without turns on other devices and in a run of several processes.

    On a GPU the cores are free for others, and the processes of one run wait for each other at every step.
    """
    alone = fabric.world_size == 1 and fabric.device.type == "cpu"
    return in_turns(parts) if alone else iter(parts)
