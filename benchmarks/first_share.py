"""Log-loss with and without the linear head's share: python benchmarks/first_share.py [--splits 6]

A committee of wide heads can be sure and wrong on inputs that are unlike the training samples, such as a digit with a
pixel that is on in two training images only. The default trains on 70% of scikit-learn's digits; the other 30% are
scored by the whole committee, by the same committee without the share, by its linear head alone, and by what people
would use instead. Prints a Markdown table of top-1 in percent, log-loss, and the largest loss of a sample.
"""

import argparse

import numpy as np
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.taxonomy import Floats, IntArray

PARITY = Taxonomy.from_paths([("odd" if digit % 2 else "even", str(digit)) for digit in range(10)])


def probabilities(train: tuple[Floats, IntArray], samples: Floats) -> dict[str, Floats]:
    """Class probabilities of samples (M, F) by each candidate, shape (M, 10)."""
    classifier = HierarchicalClassifier(PARITY, random_state=0).fit(*train)
    committee = classifier.model_.head
    found = {"committee": classifier.predict_proba(samples)}
    share, committee.first_share = committee.first_share, 0.0
    found["the same weights, without the share"] = classifier.predict_proba(samples)
    committee.first_share = share
    scores = torch.tensor(committee.models()[0].array_scores(samples))
    found[f"its first head, {committee.models()[0].method}"] = scores.softmax(dim=1).numpy()
    logistic = LogisticRegressionCV(
        Cs=6, l1_ratios=(0,), scoring="neg_log_loss", max_iter=500, use_legacy_attributes=False
    )
    flat = make_pipeline(StandardScaler(), logistic)
    found["LogisticRegressionCV"] = flat.fit(*train).predict_proba(samples)
    found["SVC"] = CalibratedClassifierCV(SVC(), ensemble=False).fit(*train).predict_proba(samples)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=6)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    images, digits = load_digits(return_X_y=True)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(asked.splits):
        parts = train_test_split(images.astype(np.float32), digits, test_size=0.3, random_state=seed, stratify=digits)
        learned, samples, labels, truth = parts
        for name, table in probabilities((learned, labels), samples).items():
            losses = -np.log(np.clip(table[np.arange(len(truth)), truth], 1e-30, None))
            top1 = 100 * float((table.argmax(axis=1) == truth).mean())
            found.setdefault(name, []).append((top1, float(losses.mean()), float(losses.max())))
    print("| candidate | top-1 % | log-loss | log-loss of each split | largest loss |")
    print("|---|---:|---:|---|---:|")
    for name, rows in found.items():
        top1, loss, largest = np.array(rows).T
        each = " ".join(f"{value:.3f}" for value in loss)
        print(f"| {name} | {top1.mean():.2f} | {loss.mean():.4f} | {each} | {largest.max():.1f} |")


if __name__ == "__main__":
    main()
