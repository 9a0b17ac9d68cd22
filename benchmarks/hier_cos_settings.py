"""The settings of Hier-COS under patience, judged on validation data alone, beside other methods.

Every line is one run on the training split of ICD-10-CM's chapters 9, 10, 11 and 13 (or the data named on the command
line), with its figures on the validation split; the test split is never read.

    python benchmarks/hier_cos_settings.py [DATA] [--width 512] [--patience 4] [--limit 10000] [--variants hier-cos]
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from lightning_fabric import Fabric

from hiercos.data import completed, load_dataset
from hiercos.encoders import LabelledVectors
from hiercos.methods import METHODS, Model
from hiercos.model import evaluate
from hiercos.paper.ablation import COSINE, mean_cosine
from hiercos.training import Features, Settings, features_of, fit

VARIANTS: dict[
    str, tuple[str, Mapping[str, Any]]
] = {  # changed settings by variant; "options." for those of the method
    "cross-entropy-mlp": ("cross-entropy-mlp", {}),
    "barz-denzler": ("barz-denzler", {}),
    "haframe": ("haframe", {}),
    "hier-cos": ("hier-cos", {}),
    "hier-cos magnitudes": ("hier-cos", {"options.reading": "magnitudes", "options.alpha": 0.05}),
    "hier-cos magnitudes alpha 0": ("hier-cos", {"options.reading": "magnitudes"}),
    "hier-cos N-wide": ("hier-cos", {"options.width": None}),
    "hier-cos exponent 1": ("hier-cos", {"options.exponent": 1.0}),
    "hier-cos dropout .5": ("hier-cos", {"options.dropout": 0.5}),
}
COLUMNS = ("top1", "hops", "hops_at_5", "hops_at_20", "fpa", COSINE, "ahd_at_5", "log_loss", "epochs", "seconds")


def changed(base: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings with some changed."""
    options = {name.removeprefix("options."): value for name, value in changes.items() if "." in name}
    training = {name: value for name, value in changes.items() if "." not in name}
    return replace(base, options={**base.options, **options}, **training)


def figures(fabric: Fabric, data: Features, train: LabelledVectors, config: Settings) -> dict[str, float]:
    """Figures of one run on validation."""
    val, model = data.samples("val"), data.model(config)
    progress = fit(fabric, model, train, val, config)
    found = evaluate(fabric, model, val) | {"log_loss": progress.best.log_loss, COSINE: cosine(fabric, model, val)}
    return found | {"epochs": len(progress.history), "seconds": progress.seconds}


def cosine(fabric: Fabric, model: Model, val: LabelledVectors) -> float:
    """Mean cosine of the embeddings to the subspaces of their classes; nan for other methods."""
    return mean_cosine(fabric, model, val) if model.method == "hier-cos" else float("nan")


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", default="icd10cm:9,10,11,13")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--patience", type=int, default=4)
    parser.add_argument("--limit", type=int, help="training samples, drawn at random; all by default")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    asked = parser.parse_args()
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    data = features_of(completed(load_dataset(asked.data))).for_method(Settings("hier-cos"))
    train = data.samples("train")
    rows = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))[: asked.limit]
    train = LabelledVectors(train.features[rows], train.labels[rows])
    print(f"| setting | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}", flush=True)
    for name in asked.variants.split(","):
        method, changes = VARIANTS[name]
        options = {"width": asked.width, "dropout": 0.1}
        base = Settings(method, {**options, **METHODS.row(method).recommended}, max_epochs=100, patience=asked.patience)
        found = figures(fabric, data, train, changed(base, changes))
        print(f"| {name} | {' | '.join(f'{found[column]:.4f}' for column in COLUMNS)} |", flush=True)


if __name__ == "__main__":
    main()
