"""Samples of classes that were left out of training: python benchmarks/unknown.py FEATURES.npz

Every tenth class is left out. Prints, at thresholds from validation data that keep 95% of the known samples, the share
of the unknown ones that the rule `unknown` answers at a right inner node, and the area under the ROC curve of its
scores; beside it a threshold on the highest softmax of logistic regression, with and without climbing.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.data import load_dataset
from hiercos.decisions import Posterior, rule
from hiercos.decisions.unknown import class_scores, separation
from hiercos.taxonomy import IntArray, is_at_or_above


def share_right_inside(nodes: IntArray, labels: IntArray, taxonomy: Taxonomy) -> float:
    """Share of answers that are an inner node above the label."""
    return float(np.mean((nodes >= 0) & is_at_or_above(nodes[:, None], labels, taxonomy)[:, 0]))


def main() -> None:
    """Print the comparison."""
    data = load_dataset(Path(sys.argv[1]))
    features, labels, taxonomy = np.asarray(data.inputs), data.labels, data.taxonomy
    away = labels % 10 == 0
    train, val, test = ((data.split == name) & ~away for name in ("train", "val", "test"))
    strange = away & (data.split != "train")
    known = taxonomy.leaves[np.arange(taxonomy.num_classes) % 10 != 0]
    model = HierarchicalClassifier(taxonomy, random_state=0).fit(features[train], labels[train])

    def posterior(rows: np.ndarray) -> Posterior:
        return model._posterior(features[rows]).within(known)  # with the scores that energies are made of

    fitted = rule("unknown", keep=0.95).fit(posterior(val), taxonomy.leaves[labels[val]])
    answers, kept, true = fitted(posterior(strange)), fitted(posterior(test)), taxonomy.leaves[labels[strange]]
    print(f"{len(known)} classes known, {int(strange.sum())} samples of the others; score {fitted.to_dict()['score']}")
    print(f"known that keep a class: {np.mean(kept.classes >= 0):.3f}")
    print(f"unknown at a right inner node: {share_right_inside(answers.nodes, true, taxonomy):.3f}")
    print(f"unknown at a class: {np.mean(answers.classes >= 0):.3f}, at the root: {np.mean(answers.nodes < 0):.3f}")
    for score in ("energy", "probability"):
        ends = [class_scores(posterior(rows), score) for rows in (test, strange)]
        print(f"AUROC of the {score} of the class: {separation(*ends):.4f}")
    flat = LogisticRegression(C=0.01, max_iter=200).fit(features[train], labels[train])
    sure = {name: flat.predict_proba(features[rows]) for name, rows in (("val", val), ("test", test), ("new", strange))}
    highest = {name: values.max(axis=1) for name, values in sure.items()}
    threshold = float(np.quantile(highest["val"], 0.05))
    whole = np.zeros((len(true), taxonomy.num_classes))
    whole[:, flat.classes_] = sure["new"]
    climbing = rule("back-off", confidence=threshold)(Posterior(whole, taxonomy)).nodes
    print(f"logistic regression: AUROC of its highest softmax {separation(highest['test'], highest['new']):.4f}")
    print(f"  its threshold rejects {np.mean(highest['new'] < threshold):.3f} of the unknown, without an inner node")
    print(f"  climbing at that threshold: right inner node {share_right_inside(climbing, true, taxonomy):.3f}")


if __name__ == "__main__":
    main()
