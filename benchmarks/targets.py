"""Targets of back-off measured on splits of data: python benchmarks/targets.py DATA[@TAXONOMY] … [--method linear-svm]

Prints two tables in Markdown, means over the splits, of the target `--target-containment 0.95`:
  (a) Coarse calibration labels. One model; each split draws calibration rows among those it has not seen, and the rest
      are answered. A share of the calibration labels is replaced by an ancestor, drawn from all above the class: of
      rows at random, or of the least confident rows first. Containment of the true class and coverage, with the coarse
      rows left out of the target and with them counted as wrong below their label (`coarse_as_wrong`).
  (b) Rows set aside (`targets=true`) against the held-out rows of the model before its last fit. Each split trains one
      model of each kind; containment on the test rows, the mean and the 5% quantile, beside that of the Beta law.
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from hiercos.data import Dataset, load_dataset
from hiercos.decisions import BackOff, Posterior, held_out_chains
from hiercos.model import Classifier
from hiercos.taxonomy import IntArray, classes_below, is_at_or_above
from hiercos.training import Settings, train

SHARES = (0.0, 0.1, 0.3, 0.5)
CALIBRATION, TESTED = 500, 2000  # calibration rows of (a), and most rows that the model has not learned from


@dataclass(frozen=True)
class Split:
    """A model that learned from some rows, and its posterior of others with their nodes, shape (M,)."""

    model: Classifier
    posterior: Posterior
    nodes: IntArray


def fitted(data: Dataset, method: str, rows: int, seed: int, *, targets: bool = False) -> Split:
    """A model of so many random rows, and the posterior of at most `TESTED` others."""
    order = np.random.default_rng(seed).permutation(len(data))
    training, tested = data.take(order[:rows]), data.take(order[rows : rows + TESTED])
    settings = Settings(method, targets=targets)
    model = train(replace(training, split=np.full(rows, "train"), purpose="train"), settings).classifier
    return Split(model, model.posterior(tested.inputs), tested.nodes)


def coarsened(found: Split, rows: IntArray, share: float, generator: np.random.Generator) -> IntArray:
    """Nodes of the split; for this share of some rows, the first of them, an ancestor in place of the class."""
    nodes, taxonomy = found.nodes.copy(), found.posterior.taxonomy
    above = [row for row in rows if taxonomy.depths[nodes[row]] > 1]
    for row in above[: round(share * len(rows))]:
        nodes[row] = generator.choice(taxonomy.path(int(nodes[row]))[:-1])
    return nodes


def outcome(rule: BackOff, posterior: Posterior, nodes: IntArray) -> tuple[float, float]:
    """Containment and coverage of the answers."""
    answers, taxonomy = rule(posterior).nodes, posterior.taxonomy
    classes = np.append(classes_below(taxonomy), taxonomy.num_classes)[answers]  # the last one for the root, -1
    coverage = 1 - np.log(classes).mean() / np.log(taxonomy.num_classes)
    return float(is_at_or_above(answers[:, None], nodes, taxonomy).mean()), float(coverage)


def coarse_lines(name: str, found: Split, target: float, splits: int) -> list[str]:
    """Rows of table (a)."""
    lines, count = [], len(found.nodes)
    confidence = found.posterior.classes.max(axis=1)
    for share in SHARES:
        cells = []
        for by_difficulty in (False, True):
            results = []
            for seed in range(splits):
                generator = np.random.default_rng(seed)
                order = generator.permutation(count)
                drawn, tested = order[:CALIBRATION], order[CALIBRATION:]
                first = drawn[np.argsort(confidence[drawn])] if by_difficulty else drawn
                chains = held_out_chains(found.posterior.rows(drawn), coarsened(found, first, share, generator)[drawn])
                results += [
                    outcome(
                        BackOff(target_containment=target, coarse_as_wrong=each).calibrated(chains),
                        found.posterior.rows(tested),
                        found.nodes[tested],
                    )
                    for each in (False, True)
                ]
            means = np.reshape(results, (splits, 2, 2)).mean(axis=0)
            cells += [f"{short(containment)}, {short(coverage)}" for containment, coverage in means]
        lines.append(f"| {name} | {share:.0%} | {' | '.join(cells)} |")
    return lines


def kinds_line(name: str, data: Dataset, options: argparse.Namespace) -> str:
    """Row of table (b)."""
    cells = []
    for targets in (True, False):
        realised, counts, law = [], [], []
        for seed in range(options.splits):
            found = fitted(data, options.method, options.rows, seed, targets=targets)
            assert found.model.calibration is not None
            rule = BackOff(target_containment=options.target).calibrated(found.model.calibration)
            realised.append(outcome(rule, found.posterior, found.nodes)[0])
            counts.append(rule.samples)
            rank, size = int(np.ceil(round((rule.samples + 1) * options.target, 9))), len(found.nodes)
            law.append(stats.betabinom(size, rank, rule.samples + 1 - rank).ppf(0.05) / size)
        low, bound = short(float(np.quantile(realised, 0.05))), short(float(np.mean(law)))
        cells += [f"{np.mean(counts):.0f}", short(float(np.mean(realised))), f"{low} ({bound})"]
    return f"| {name} | {' | '.join(cells)} |"


def short(value: float) -> str:
    """A number with three digits, without a leading zero."""
    return f"{value:.3f}".removeprefix("0")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="data set of hiercos train, with the file of its taxonomy behind @")
    parser.add_argument("--method", default="linear-svm")
    parser.add_argument("--rows", type=int, default=1000, help="rows that a model is made of")
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--target", type=float, default=0.95)
    options = parser.parse_args()
    sets = {}
    for given in options.data:
        source, _, taxonomy = given.partition("@")
        data = load_dataset(source, taxonomy=taxonomy or None, on_error="skip")
        sets[data.name] = data
    print(
        "| data | coarse | at random: left out | as wrong | by difficulty: left out | as wrong |\n" + "|---" * 6 + "|"
    )
    for name, data in sets.items():
        found = fitted(data, options.method, options.rows, 0)
        print("\n".join(coarse_lines(name, found, options.target, options.splits)), flush=True)
    head = "| data | rows set aside | mean | 5% quantile (law) | rows held out | mean | 5% quantile (law) |"
    print(f"\n{head}\n" + "|---" * 7 + "|")
    for name, data in sets.items():
        print(kinds_line(name, data, options), flush=True)


if __name__ == "__main__":
    main()
