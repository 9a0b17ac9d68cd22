"""Several methods on the same features, splits, schedule and seeds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lightning_fabric import Fabric

from hiercos.engine import PreparedData, TrainConfig, Watcher, train_run
from hiercos.records import Record

RUNS = "runs"


def compare(
    fabric: Fabric,
    data: PreparedData,
    configs: Sequence[TrainConfig],
    seeds: Sequence[int],
    folder: Path,
    *,
    watcher: Callable[[TrainConfig], Watcher | None],
) -> list[Record]:
    """Train and test every configuration with every seed; what an earlier call finished is not run again.

    Args:
        fabric: where to run, launched.
        data: the features all methods share.
        configs: one per method; their seeds are replaced.
        seeds: of the runs.
        folder: where to leave a folder per run.
        watcher: gives what is told how each run goes.

    Returns:
        The records, method by method and seed by seed.
    """
    records = []
    for config in configs:
        for seed in seeds:
            seeded = replace(config, seed=seed)
            place = folder / RUNS / config.method / f"seed-{seed}"
            records.append(train_run(fabric, data, seeded, place, resume=True, watcher=watcher(seeded)))
    return records
