"""Samples of classes that were left out of training: python benchmarks/unknown.py FEATURES.npz [--methods committee]

Every tenth class is left out. For each method it prints the area under the ROC curve of the scores, and what becomes of
the unknown samples at thresholds from validation data that keep the class of 95% of the known ones:
  threshold  the highest probability alone: the class or the root
  climbing   the deepest node of the chain with a probability above the same threshold
  unknown    the rule of this name
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hiercos import HierarchicalClassifier
from hiercos.data import load_dataset
from hiercos.decisions import Decision, Posterior, Rule, rule
from hiercos.decisions.unknown import known_class_scores, separation
from hiercos.taxonomy import IntArray, is_at_or_above

Scorer = Callable[[np.ndarray], Posterior]


def shown_shares(decision: Decision, labels: IntArray) -> str:
    """Shares of answers that are a right inner node, a wrong inner node, a class, and the root."""
    inner = (decision.nodes >= 0) & (decision.classes < 0)
    right = inner & is_at_or_above(decision.nodes[:, None], labels, decision.taxonomy)[:, 0]
    shares = (right, inner & ~right, decision.classes >= 0, decision.nodes < 0)
    return "".join(f"{np.mean(share):9.3f}" for share in shares)


def print_scorer(name: str, scorer: Scorer, rows: dict[str, np.ndarray], labels: IntArray) -> None:
    """Print the areas under the ROC curve of a model's scores, and a line for each way to answer."""
    found = {part: scorer(mask) for part, mask in rows.items()}
    areas = {
        score: separation(*(known_class_scores(found[part], score) for part in ("test", "new")))
        for score in ("probability", "energy")
    }
    print(f"{name}: AUROC " + ", ".join(f"{score} {area:.3f}" for score, area in areas.items()))
    threshold = float(np.quantile(known_class_scores(found["val"], "probability"), 0.05))
    rules: dict[str, Rule] = {
        "threshold": rule("speciesnet", of_class=threshold, of_node=2.0),
        "climbing": rule("back-off", confidence=threshold),
        "unknown": rule("unknown", keep=0.95).fit(found["val"], labels[rows["val"]]),
    }
    print(f"  {'':10}  known kept  right in    wrong    class     root")
    for way, decide in rules.items():
        kept = np.mean(decide(found["test"]).classes >= 0)
        print(f"  {way:10} {kept:11.3f} {shown_shares(decide(found['new']), labels[rows['new']])}")


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    parser.add_argument("--methods", default="committee,cross-entropy", help="methods, separated by commas")
    parser.add_argument("--effort", default="quick", help="effort of the method committee")
    options = parser.parse_args()
    data = load_dataset(options.features)
    features, classes, taxonomy = np.asarray(data.inputs), data.labels, data.taxonomy
    away = classes % 10 == 0
    rows = {name: (data.split == name) & ~away for name in ("train", "val", "test")}
    rows["new"] = away & (data.split != "train")
    train, known = rows.pop("train"), taxonomy.leaves[np.arange(taxonomy.num_classes) % 10 != 0]
    print(f"{len(known)} classes known, {int(rows['new'].sum())} samples of the others")
    labels = taxonomy.leaves[classes]
    for method in options.methods.split(","):
        effort = {"effort": options.effort} if method == "committee" else None
        model = HierarchicalClassifier(taxonomy, method=method, options=effort, random_state=0)
        model.fit(features[train], classes[train])
        print_scorer(method, lambda mask, model=model: model._posterior(features[mask]).within(known), rows, labels)


if __name__ == "__main__":
    main()
