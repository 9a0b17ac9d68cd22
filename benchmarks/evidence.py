"""Two readings of the embeddings of Hier-COS: python benchmarks/evidence.py [DATA …] [--seeds 0 1]

One model is trained for each seed, on the training rows alone, with the recommended settings. Its probabilities are
then the softmax of the class scores (`norm`, published), of minus the divergences (`divergence, factor 1`), or of these
with a fitted factor of the entropies (`divergence`, what the commands use). Temperature, factor and the answer of the
rule `auto` are fitted on the validation rows. "val" is the log-loss on validation rows of one half, fitted on the
other; the other figures are of the test rows. The ranking without a rule is the same for all readings. Beside them
`cross-entropy-mlp`.
"""

import argparse
from dataclasses import replace

import numpy as np
import torch
from lightning_fabric import Fabric

from hiercos.data import completed, load_dataset
from hiercos.decisions import rule
from hiercos.methods import Evidence
from hiercos.metrics import SuiteSums, suite_values
from hiercos.model import ClassScores, ruled_tensors, sample_scores
from hiercos.taxonomy import Taxonomy
from hiercos.training import AnyFeatures, Settings, features_of, train
from hiercos.training.calibrate import HeldOut, calibrate

RULES = ("none", "crm", "auto")
COLUMNS = ("top1", "hops", "hops_at_5")


def reading(held: HeldOut, name: str) -> HeldOut:
    """The samples without evidence for the published reading."""
    return replace(held, scores=ClassScores(held.scores.classes)) if name == "norm" else held


def figures(fitted: HeldOut, measured: HeldOut, taxonomy: Taxonomy, evidence: Evidence | None) -> dict[str, float]:
    """Log-loss and ranking metrics of some samples, calibrated on others."""
    found = calibrate(fitted, taxonomy, evidence=evidence)
    known = measured.of_classes(taxonomy)
    if evidence is not None:
        known = known.shifted(found.added_factor * evidence.constants.numpy())
    posterior, values = found.posterior(known.scores), {"factor": 1 + found.added_factor}
    for name, decided in found.fitted({each: rule(each) for each in RULES}).items():
        rows = suite_values(labels=known.labels, taxonomy=taxonomy, **ruled_tensors(decided, posterior))
        means = SuiteSums.empty(taxonomy).plus(SuiteSums.of(rows, known.labels, taxonomy)).means(taxonomy)
        values |= {f"{column} {name}": float(means[column]) for column in (*COLUMNS, "log_loss")}
    return values


def halves(held: HeldOut, seed: int) -> tuple[HeldOut, HeldOut]:
    """Two random halves of some samples."""
    order = np.random.default_rng(seed).permutation(len(held.labels))
    first, second = (
        HeldOut(held.scores.rows(rows), held.labels[torch.from_numpy(rows)])
        for rows in (order[: len(order) // 2], order[len(order) // 2 :])
    )
    return first, second


def lines(fabric: Fabric, data: AnyFeatures, method: str, seed: int) -> None:
    """Print the lines of one model."""
    model = train(data, Settings(method, seed=seed, refit=False), fabric=fabric).classifier.model
    features, evidence = data.for_method(Settings(method)), model.evidence
    if evidence is not None:
        evidence.factor.fill_(1.0)
    splits = (features.samples(name) for name in ("val", "test"))
    val, test = (HeldOut(sample_scores(fabric, model, each), each.labels) for each in splits)
    names = ("norm", "divergence, factor 1", "divergence") if evidence is not None else ("",)
    for name in names:
        used = evidence if name == "divergence" else None
        first, second = (reading(each, name) for each in halves(val, seed))
        inside = [figures(*pair, data.taxonomy, used)["log_loss none"] for pair in ((first, second), (second, first))]
        found = figures(reading(val, name), reading(test, name), data.taxonomy, used)
        shown = [np.mean(inside), found["log_loss none"]]
        shown += [found[f"{column} {each}"] for each in RULES for column in COLUMNS] + [found["factor"]]
        print(f"| {method} {seed} | {name} | {' | '.join(f'{each:.4f}' for each in shown)} |", flush=True)


def main() -> None:
    """Print a Markdown table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["icd10cm:9,10,11,13"])
    parser.add_argument("--taxonomy")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--methods", nargs="*", default=["hier-cos", "cross-entropy-mlp"])
    asked = parser.parse_args()
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    heads = [f"{column} {each}" for each in RULES for column in COLUMNS]
    for source in asked.data:
        data = features_of(completed(load_dataset(source, taxonomy=asked.taxonomy)))
        print(f"\n{source}\n\n| model | reading | val | log-loss | {' | '.join(heads)} | factor |")
        print(f"|---|---|{'---:|' * (3 + len(heads))}", flush=True)
        for seed in asked.seeds:
            for method in asked.methods:
                lines(fabric, data, method, seed)


if __name__ == "__main__":
    main()
