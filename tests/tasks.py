"""Small tasks for tests of who performs them; in a file of their own, which other processes can import."""

import os
import signal
import time
from dataclasses import dataclass, field

import torch
from lightning_fabric import Fabric

from hiercos.engine import Epoch, PreparedData, RunProgress, TrainConfig, TrainingCallback
from hiercos.errors import FaultsError


@dataclass(frozen=True)
class Found:
    """What a task saw in its process."""

    process: int
    threads: int
    limit: str | None
    total: float
    top1: float = 0.5
    hops: float = 0.75


@dataclass(frozen=True)
class Look:
    """A task that tells of two epochs and looks around; the number decides what it does besides."""

    number: int
    does: str = "nothing"
    config: TrainConfig = field(default_factory=TrainConfig)
    kind: str = "seed"
    method: str = "hier-cos"

    @property
    def name(self) -> str:
        return f"task {self.number}"

    def __call__(self, fabric: Fabric, data: PreparedData, callback: TrainingCallback | None) -> Found:
        progress = RunProgress([Epoch(1, 0.5, 0.25, 0.5, 1.0)], best_epoch=1, seconds=1.0)
        if callback:
            callback.batch(1, 1, 1)
            callback.epoch(progress, self.config)
            callback.close()
        if self.does == "fail":
            raise FaultsError(f"{self.name}: the value is wrong")
        if self.does == "fail oddly":
            raise OddError(first="a", second="b")
        if self.does == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does == "wait":
            time.sleep(600)
        limit = os.environ.get("OMP_NUM_THREADS")
        return Found(os.getpid(), torch.get_num_threads(), limit, float(data.features.sum()))


class OddError(Exception):
    """An error that cannot be pickled and rebuilt."""

    def __init__(self, *, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")
