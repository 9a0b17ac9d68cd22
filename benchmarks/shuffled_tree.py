"""What of each method's gain is the hierarchy's: python benchmarks/shuffled_tree.py [DATA …] [--draws 2] [--methods …]

Every method is trained on the data's own taxonomy, and on taxonomies of the same shape under which the classes stand at
random places (the class of each row keeps its samples and its name, and gets another leaf). A model is measured by the
taxonomy that it learned from; one of a shuffled taxonomy also by the true one. The flat method of the first line knows
no taxonomy, so its figures under a shuffled taxonomy are those of a ranking without any knowledge of it. What a method
gains over the flat one on shuffled taxonomies as well is gained by answering in the metric's form; what it gains on the
true one beyond that is the hierarchy's. Test rows, under the rule `none` and under `hops`; means over the draws.
"""

import argparse
from dataclasses import replace

import numpy as np
import torch
from lightning_fabric import Fabric

from hiercos.data import Dataset, completed, load_dataset
from hiercos.decisions import rule
from hiercos.metrics import SuiteSums, suite_values
from hiercos.model import ClassScores, ruled_tensors, sample_scores
from hiercos.taxonomy import IntArray, Taxonomy
from hiercos.training import Settings, features_of, train

METHODS = ("cross-entropy-mlp", "hier-cos", "haframe", "barz-denzler", "soft-labels", "path-softmax")
COLUMNS = ("top1", "ahd_at_1", "hops", "hops_at_5")
RULES = ("none", "hops")
HEADS = tuple(f"{column} {name}" for name in RULES for column in COLUMNS)
Figures = dict[str, float]


def shuffled(data: Dataset, places: IntArray) -> Dataset:
    """The data, labelled with classes alone, with the samples of class c at the leaf of class places[c]."""
    return replace(data, nodes=data.taxonomy.leaves[places[data.labels]])


def figures(scores: ClassScores, labels: torch.Tensor, taxonomy: Taxonomy, temperature: float) -> Figures:
    """Metrics of test scores under each rule by "column rule"."""
    posterior, values = scores.posterior(taxonomy, temperature), {}
    for name in RULES:
        rows = suite_values(labels=labels, taxonomy=taxonomy, **ruled_tensors(rule(name), posterior))
        means = SuiteSums.empty(taxonomy).plus(SuiteSums.of(rows, labels, taxonomy)).means(taxonomy)
        values |= {f"{column} {name}": float(means[column]) for column in COLUMNS}
    return values


def measured(fabric: Fabric, data: Dataset, places: IntArray, method: str, seed: int) -> tuple[Figures, Figures]:
    """Test figures of one model by the taxonomy it learned from, and by the true one."""
    features = features_of(shuffled(data, places))
    classifier = train(features, Settings(method, seed=seed, refit=False), fabric=fabric).classifier
    test = features.for_method(Settings(method)).samples("test")
    scores = sample_scores(fabric, classifier.model, test)
    own = figures(scores, test.labels, data.taxonomy, classifier.temperature)
    unshuffled, labels = scores.rows(np.s_[:, places]), torch.from_numpy(np.argsort(places))
    unshuffled = replace(unshuffled, energies=None)
    return own, figures(unshuffled, labels[test.labels], data.taxonomy, classifier.temperature)


def means(rows: list[Figures]) -> Figures:
    """Means of the figures over the draws."""
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def shown(method: str, name: str, values: Figures) -> str:
    """One line of the table."""
    return f"| {method} | {name} | {' | '.join(f'{values[each]:.4f}' for each in HEADS)} |"


def main() -> None:
    """Print a Markdown table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["icd10cm:9,10,11,13"])
    parser.add_argument("--taxonomy")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    asked = parser.parse_args()
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    for source in asked.data:
        data = completed(load_dataset(source, taxonomy=asked.taxonomy))
        classes = data.taxonomy.num_classes
        print(f"\n{source}\n\n| method | learned from, measured by | {' | '.join(HEADS)} |")
        print(f"|---|---|{'---:|' * len(HEADS)}", flush=True)
        for method in asked.methods:
            true, _ = measured(fabric, data, np.arange(classes), method, 0)
            print(shown(method, "true, true", true), flush=True)
            places = [np.random.default_rng(draw).permutation(classes) for draw in range(asked.draws)]
            drawn = [measured(fabric, data, each, method, 0) for each in places]
            print(shown(method, "shuffled, shuffled", means([own for own, _ in drawn])), flush=True)
            print(shown(method, "shuffled, true", means([real for _, real in drawn])), flush=True)


if __name__ == "__main__":
    main()
