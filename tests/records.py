"""Records with figures of our choice, for tests of what is made of them."""

from hiercos.records import Record
from hiercos.report.results import COLUMNS

LEVELS = 2


def record(method: str = "hier-cos", seed: int = 0, *, rule: str = "none", **figures: float) -> Record:
    metrics = {column.key: 0.5 for column in COLUMNS if column.key != "train_seconds"}
    metrics |= {f"correct_order_at_{k}": 0.5 for k in (1, 3, 5, 10, 20, 50)} | {"correct_order_all": 0.25}
    metrics |= {f"accuracy_level_{level}": 0.75 for level in range(1, LEVELS + 1)}
    seconds = figures.pop("train_seconds", 1.0)
    return Record(
        method=method,
        uses_tree=not method.startswith("cross-entropy"),
        rule=rule,
        seed=seed,
        config={
            "options": {"width": 7},
            "epochs": 2,
            "batch_size": 4,
            "optimizer": "adamw",
            "learning_rate": 0.1,
            "seed": seed,
        },
        data={
            "name": "toys <b>",
            "source": "toys.csv",
            "fingerprint": "ab" * 32,
            "features": 5,
            "sizes": {"train": 10, "val": 2, "test": 3},
        },
        taxonomy={"fingerprint": "cd" * 32, "nodes": 5, "classes": 30, "height": LEVELS},
        metrics={**metrics, **figures},
        history=[],
        best_epoch=1,
        train_seconds=seconds,
        versions={"python": "3.11"},
    )
