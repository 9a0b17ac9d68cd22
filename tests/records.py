"""Records with figures of our choice, for tests of what is made of them."""

from hiercos.metrics.table import SUITE, of_all_levels
from hiercos.records import Record

LEVELS = 2


def record(method: str = "hier-cos", seed: int = 0, *, rule: str = "none", **figures: float) -> Record:
    levels = {f"accuracy_level_{level}": 0.75 for level in range(1, LEVELS + 1)}
    metrics = {spec.name: 0.5 for spec in of_all_levels(SUITE, LEVELS)} | {"correct_order_all": 0.25} | levels
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
        taxonomy={"fingerprint": "cd" * 32, "nodes": 5, "classes": 30, "height": LEVELS, "largest_distance": LEVELS},
        metrics={**metrics, **figures},
        history=[],
        best_epoch=1,
        train_seconds=seconds,
        versions={"python": "3.11"},
    )
