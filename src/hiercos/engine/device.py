"""Device of an estimator or a pipeline: one process on one device, by name."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch

from hiercos.options import check_choice

if TYPE_CHECKING:
    from lightning_fabric import Fabric


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
