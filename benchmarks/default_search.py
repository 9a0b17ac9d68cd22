"""How the default settings were chosen: one setting changed at a time, judged on validation data alone.

Every line is the mean over seeds of a method with one setting changed, on the validation split of ICD-10-CM's chapters
9, 10, 11 and 13 (or the data named on the command line); the test split is never read. The temperature of a rule is
fitted on the same validation split: one number, so it flatters all lines alike and very little.

    python benchmarks/default_search.py [DATA] [--seeds 2] [--epochs 15]
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric

from hiercos.data import completed, load_dataset
from hiercos.decisions import fit_temperature
from hiercos.decisions import rule as named_rule
from hiercos.metrics import default_suite
from hiercos.model import sample_scores
from hiercos.training import Features, Settings, features_of, fit

SHARED = {"width": 512, "dropout": 0.1}  # options of every method here
TRAINING: dict[str, tuple[Any, ...]] = {
    "learning_rate": (1e-3, 1e-2),
    "weight_decay": (1e-3, 1e-1),
    "batch_size": (64,),
    "schedule": ("one-cycle",),
    "standardize": (False,),
}
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "hier-cos": {
        "dropout": (0.0, 0.3, 0.5),
        "width": (256, 1024),
        "alpha": (0.0, 0.01, 0.2),
        "exponent": (1.0,),
        "direction": ("uniform", "root"),
        "penalty": ("scale-free",),
    },
    "path-softmax": {"dropout": (0.0, 0.3, 0.5), "width": (256, 1024), "inner": (0.0, 0.3, 3.0)},
    "cross-entropy-mlp": {"dropout": (0.0, 0.3, 0.5), "width": (256, 1024)},
}
RULES_OF = {"hier-cos": ("none", "crm", "hops")}  # the others have no ranking of their own worth a column
COLUMNS = {"top1": "top-1", "hops": "HOPS", "hops_at_5": "HOPS@5", "hops_at_20": "HOPS@20", "ahd_at_20": "AHD@20"}


def changes(base: Settings) -> Iterator[tuple[str, Settings]]:
    """The settings to try: the given ones, then each with one value changed."""
    yield "as given", base
    for name, values in TRAINING.items():
        for value in values:
            yield f"{name} {value}", replace(base, **{name: value})
    for name, values in OPTIONS[base.method].items():
        for value in values:
            yield f"{name} {value}", replace(base, options={**base.options, name: value})


def validation(fabric: Fabric, data: Features, config: Settings, rules: tuple[str, ...]) -> dict[str, Any]:
    """The figures of one run on validation, by rule, and its log-loss at the fitted temperature."""
    data = data.for_method(config)
    model, val = data.model(config), data.samples("val")
    fit(fabric, model, data.training_samples(config), val, config)
    scores = sample_scores(fabric, model, val)
    temperature = fit_temperature(scores.of_probabilities, val.labels)
    posterior = scores.posterior(data.taxonomy, temperature)
    found = {"log_loss": -float(np.take_along_axis(posterior.logs, val.labels.numpy()[:, None], axis=1).mean())}
    for rule in rules:
        suite = default_suite(data.taxonomy)
        suite.update(torch.from_numpy(named_rule(rule).ranking(posterior)), val.labels)
        found |= {f"{rule} {name}": float(value) for name, value in suite.compute().items()}
    return found


def line(label: str, runs: list[Mapping[str, float]], rules: tuple[str, ...]) -> str:
    """A row of the Markdown table: the mean over seeds."""

    def mean(key: str) -> float:
        return sum(run[key] for run in runs) / len(runs)

    cells = [f"{mean('log_loss'):.3f}"]
    for rule in rules:
        cells += [f"{100 * mean(f'{rule} top1'):.2f}"]
        cells += [f"{mean(f'{rule} {name}'):.4f}" for name in COLUMNS if name != "top1"]
    return " | ".join(["", label, *cells, ""]).strip()


def main() -> None:
    """Print one Markdown table per method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="icd10cm:9,10,11,13")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--methods", default=",".join(OPTIONS))
    asked = parser.parse_args()
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    data = features_of(completed(load_dataset(asked.data)))
    for method in asked.methods.split(","):
        rules = RULES_OF.get(method, ("crm", "hops"))
        heads = [f"{rule} {heading}" for rule in rules for heading in COLUMNS.values()]
        print(f"\n## {method}\n\n| setting | log-loss | {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) + 1)}")
        for label, config in changes(Settings(method=method, options=SHARED, epochs=asked.epochs)):
            runs = [validation(fabric, data, replace(config, seed=seed), rules) for seed in range(asked.seeds)]
            print(line(label, runs, rules), flush=True)


if __name__ == "__main__":
    main()
