from pathlib import Path

from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import compare
from hiercos.engine import TrainConfig

CONFIGS = [TrainConfig(method=name, epochs=2, batch_size=16) for name in ("cross-entropy", "hier-cos")]


def test_every_method_meets_every_seed_and_nothing_runs_twice(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    started: list[tuple[str, int]] = []

    def watcher(config: TrainConfig) -> None:
        started.append((config.method, config.seed))

    first = compare(fabric, blob_data(), CONFIGS, [4, 5], tmp_path, watcher=watcher)
    expected = [("cross-entropy", 4), ("cross-entropy", 5), ("hier-cos", 4), ("hier-cos", 5)]
    assert [(record.method, record.seed) for record in first] == started == expected
    weights = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("model.safetensors")}
    assert len(weights) == 4
    again = compare(fabric, blob_data(), CONFIGS, [4, 5], tmp_path, watcher=watcher)
    assert [record.history for record in again] == [record.history for record in first]
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("model.safetensors")} == weights
