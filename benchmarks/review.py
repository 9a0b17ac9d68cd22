"""Strategies of hiercos review against random rows: python benchmarks/review.py

Texts of ICD-10-CM (chapters 9 and 11), and titles of goods to the second level of their categories. A first model
learns from 100 random rows; then the rows that a strategy chooses from a pool are labelled as the data have them, in
steps up to 100, 200, 500 and 1,000 reviewed rows, and each step is chosen by the model of the one before. Prints top-1
and HOPS on fixed test rows, and for each strategy the number of random rows, read off their mean curve, that reach the
same top-1.
"""

import argparse
from collections import defaultdict
from dataclasses import replace

import numpy as np
import torch

from hiercos import Taxonomy
from hiercos.data import Dataset, InputBatch, load_dataset
from hiercos.evaluation import STRATEGIES, review_rows
from hiercos.metrics import functional as HF
from hiercos.model import Classifier
from hiercos.training import Settings, train

SETS = ("icd10cm:9", "icd10cm:11", "listings")
FIRST, STEPS = 100, (100, 200, 500, 1000)
POOL, TESTED = 3000, 600  # most rows of the pool and of the test


def main() -> None:
    """Print a line for each set, strategy and number of reviewed rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--steps", default=",".join(map(str, STEPS)))
    asked = parser.parse_args()
    steps = [int(step) for step in asked.steps.split(",")]
    for name in asked.sets.split(","):
        data = replace(load_dataset(name), purpose="train")
        data = to_level(data, 2) if name == "listings" else data
        found: dict[str, list[list[tuple[float, float]]]] = defaultdict(list)
        for draw in range(asked.draws):
            for strategy in asked.strategies.split(","):
                found[strategy].append(course(data, strategy, steps, draw))
        report(name, steps, found)


def to_level(data: Dataset, level: int) -> Dataset:
    """The data with the nodes of a level as classes; rows of nodes above it are left out."""
    names = [tuple(data.taxonomy.names[step] for step in data.taxonomy.path(int(node))) for node in data.nodes]
    rows = [row for row, path in enumerate(names) if len(path) >= level]
    tree = Taxonomy.from_paths(sorted({names[row][:level] for row in rows}))
    node = {tuple(tree.names[step] for step in tree.path(int(leaf))): leaf for leaf in tree.leaves}
    nodes = np.array([node[names[row][:level]] for row in rows])
    return replace(data, inputs=data.inputs.take(rows), taxonomy=tree, nodes=nodes, split=data.split[rows])


def course(data: Dataset, strategy: str, steps: list[int], draw: int) -> list[tuple[float, float]]:
    """Top-1 and HOPS after each number of reviewed rows."""
    order = np.random.default_rng(draw).permutation(np.flatnonzero(data.split != "test"))[:POOL]
    test = np.flatnonzero(data.split == "test")
    test = test[np.linspace(0, len(test) - 1, min(TESTED, len(test))).astype(int)]
    learned, pool, results = [*order[:FIRST]], [*order[FIRST:]], []
    labels = data.taxonomy.classes_of(data.nodes[test])
    model = model_of(data, learned)
    for step in steps:
        batch = InputBatch(pool, data.inputs.take(pool))
        wanted = FIRST + step - len(learned)
        rows = review_rows([(batch, model.posterior(batch.inputs))], wanted, strategy, seed=draw)
        learned += [row.number for row in rows]
        pool = [row for row in pool if row not in {*learned}]
        model = model_of(data, learned)
        tested = model.posterior(data.inputs.take(test))
        hops = HF.hops(torch.from_numpy(tested.classes), torch.from_numpy(labels), data.taxonomy)
        results.append((float((tested.classes.argmax(axis=1) == labels).mean()), float(hops.mean())))
    return results


def model_of(data: Dataset, learned: list[int]) -> Classifier:
    """The model that learned from some rows."""
    part = replace(data.take(np.array(learned)), split=np.full(len(learned), "train"))
    return train(part, Settings("tree-logistic")).classifier


def report(name: str, steps: list[int], found: dict[str, list[list[tuple[float, float]]]]) -> None:
    """Print the means of all draws, and what each strategy saves."""
    means = {strategy: np.array(draws).mean(axis=0) for strategy, draws in found.items()}
    spread = {strategy: np.array(draws)[:, :, 0].std(axis=0) for strategy, draws in found.items()}
    random = means["random"][:, 0]
    for strategy, values in means.items():
        for place, step in enumerate(steps):
            top1, hops = values[place]
            needed = float(np.interp(top1, random, steps, left=np.nan, right=np.inf))
            shown = f"top-1 {100 * top1:5.2f}% (sd {100 * spread[strategy][place]:.2f})  HOPS {hops:.4f}"
            print(f"{name:11} {strategy:13} {step:5} rows: {shown}  random rows for it: {needed:5.0f}", flush=True)


if __name__ == "__main__":
    main()
