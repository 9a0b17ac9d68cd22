"""Devices: one process on one device by name, and the random state."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from hiercos.checks import check_choice
from hiercos.encoders.names import DEVICES

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FULL_PRECISION = "32-true"  # as Fabric calls it


class DeviceContext(Protocol):
    """The part of Lightning Fabric that inference uses: a `Fabric`, or a `SingleDevice`."""

    @property
    def device(self) -> torch.device:
        """Device of this process."""

    @property
    def world_size(self) -> int:
        """Number of processes."""

    def to_device(self, obj: Any, /) -> Any:
        """A batch with its tensors on the device."""

    def autocast(self) -> AbstractContextManager[Any]:
        """Context manager that computes in the chosen precision."""


def available_device(name: str) -> torch.device:
    """Device by name: "cpu", "cuda" or "mps", or "auto" for a GPU if there is one.

    Raises:
        ValueError: for another name, or a device that is not available.
    """
    present = {"cuda": torch.cuda.is_available(), "mps": torch.mps.is_available(), "cpu": True}
    check_choice("device", name, DEVICES)
    if not present.get(name, True):
        raise ValueError(f"expected an available device, got {name!r}")
    kind = next(kind for kind in present if present[kind]) if name == "auto" else name
    return torch.device("cpu") if kind == "cpu" else torch.device(kind, 0)


class SingleDevice:
    """One process on one device in full precision, without Fabric, whose import takes longer than a short prediction.

    Args:
        name: name for `available_device`.

    Raises:
        ValueError: for another name, or a device that is not available.
    """

    world_size = 1

    def __init__(self, name: str) -> None:
        self.device = available_device(name)

    def to_device(self, obj: Any, /) -> Any:
        """A tensor, or a mapping or sequence of them, on the device; anything else as it is."""
        if isinstance(obj, Tensor):
            return obj.to(self.device)
        if isinstance(obj, Mapping):
            return {key: self.to_device(value) for key, value in obj.items()}
        if isinstance(obj, list | tuple):
            return type(obj)(self.to_device(value) for value in obj)
        return obj

    def autocast(self) -> AbstractContextManager[Any]:
        """Context manager that changes nothing: full precision."""
        return nullcontext()


def launched(device: str) -> Fabric:
    """A launched Fabric of one process on a device: "auto", "cpu", "cuda" or "mps".

    Raises:
        ValueError: for another name, or a device that is not available.
    """
    available_device(device)  # raises for a wrong name
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator=device, devices=1)
    fabric.launch()
    return fabric


def random_state_kept() -> AbstractContextManager[None]:
    """Context manager that restores torch's random state on CPU and GPUs at its end."""
    return torch.random.fork_rng(devices=range(torch.cuda.device_count()))
