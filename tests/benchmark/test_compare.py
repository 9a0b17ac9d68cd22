from pathlib import Path

from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import Entry, compare
from hiercos.engine import TrainConfig

ENTRIES = [
    Entry(TrainConfig(method="cross-entropy", epochs=2, batch_size=16), ("none", "crm", "hops")),
    Entry(TrainConfig(method="hier-cos", epochs=2, batch_size=16)),
]


def test_every_method_meets_every_seed_and_nothing_runs_twice(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    started: list[tuple[str, int]] = []

    def watcher(config: TrainConfig) -> None:
        started.append((config.method, config.seed))

    first = compare(fabric, blob_data(), ENTRIES, [4, 5], tmp_path, watcher=watcher)
    assert started == [("cross-entropy", 4), ("cross-entropy", 5), ("hier-cos", 4), ("hier-cos", 5)]
    assert [(record.method, record.rule, record.seed) for record in first] == [
        *(("cross-entropy", rule, seed) for rule in ("none", "crm", "hops") for seed in (4, 5)),
        *(("hier-cos", "none", seed) for seed in (4, 5)),
    ]
    weights = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("model.safetensors")}
    assert len(weights) == 4
    again = compare(fabric, blob_data(), ENTRIES, [4, 5], tmp_path, watcher=watcher)
    assert again == first
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("model.safetensors")} == weights
