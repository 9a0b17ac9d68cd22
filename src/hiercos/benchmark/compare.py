"""Several methods on the same features, splits, schedule and seeds, raw and under decision rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lightning_fabric import Fabric

from hiercos.engine import PreparedData, TrainConfig, Watcher, rule_records, train_run
from hiercos.records import Record

RUNS = "runs"


@dataclass(frozen=True)
class Entry:
    """A method of a comparison: its settings (the seed is replaced) and the rules its scores are reported under."""

    config: TrainConfig
    rules: tuple[str, ...] = ("none",)


def compare(
    fabric: Fabric,
    data: PreparedData,
    entries: Sequence[Entry],
    seeds: Sequence[int],
    folder: Path,
    *,
    watcher: Callable[[TrainConfig], Watcher | None],
) -> list[Record]:
    """Train and test every entry with every seed; what an earlier call finished is not run again.

    Args:
        fabric: where to run, launched.
        data: the features all methods share.
        entries: one per method.
        seeds: of the runs.
        folder: where to leave a folder per run.
        watcher: gives what is told how each run goes.

    Returns:
        The records, method by method, rule by rule and seed by seed.
    """
    records: list[Record] = []
    for entry in entries:
        by_seed = []
        for seed in seeds:
            config = replace(entry.config, seed=seed)
            place = folder / RUNS / config.method / f"seed-{seed}"
            record = train_run(fabric, data, config, place, resume=True, watcher=watcher(config))
            by_seed.append(rule_records(fabric, data, record, place, entry.rules))
        records += [record for of_rule in zip(*by_seed, strict=True) for record in of_rule]
    return records
