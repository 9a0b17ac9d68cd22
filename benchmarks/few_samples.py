"""Learning curves without validation data: python benchmarks/few_samples.py DATA [--shots 1,2,5,10,20] [--draws 5]

DATA is a built-in name or a file. Every draw takes so many training samples of each class; all candidates fit the same
samples with their defaults and choose whatever they choose by themselves: the default estimator, flat logistic
regression solved to its optimum with a chosen penalty, the wide head of flat cross-entropy, and hiclass (a logistic
regression for each parent). Features are those of the command: vectors, or TF-IDF of texts. hiclass gets vectors
standardized by the training samples of the draw.
Prints top-1 on the test split in percent, HOPS and log-loss as Markdown: means over the draws, and for top-1 half the
95% interval of the paired difference to the best flat candidate.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from estimators import PerParentNode, all_columns
from scipy import stats
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.benchmark import few_shot_rows
from hiercos.data import completed, load_dataset
from hiercos.metrics import functional as HF
from hiercos.training import features_of

OURS, FLAT, WIDE, HICLASS = "committee", "logistic", "cross-entropy-mlp", "hiclass"


class StandardizedPerParentNode(PerParentNode):
    """hiclass on features standardized by the training samples; sparse ones stay as they are."""

    def fit(self, samples: Any, labels: Any) -> None:
        """Train on (M, F), (M,)."""
        dense = not issparse(samples)
        self.scaler = StandardScaler(with_mean=dense, with_std=dense).fit(samples)
        super().fit(self.scaler.transform(samples), labels)

    def predict(self, samples: Any) -> Any:
        """Class indices, shape (M,)."""
        return super().predict(self.scaler.transform(samples))

    def predict_proba(self, samples: Any) -> Any:
        """Probabilities as hiclass gives them, shape (M, classes seen)."""
        return super().predict_proba(self.scaler.transform(samples))

    def decision_function(self, samples: Any) -> Any:
        """Probabilities multiplied along the paths, shape (M, classes seen)."""
        return super().decision_function(self.scaler.transform(samples))


def candidates(taxonomy: Taxonomy, seed: int) -> dict[str, Callable[[], Any]]:
    """A function for each candidate that makes it."""
    return {
        OURS: lambda: HierarchicalClassifier(taxonomy, random_state=seed),
        FLAT: lambda: HierarchicalClassifier(taxonomy, method="logistic", random_state=seed),
        WIDE: lambda: HierarchicalClassifier(taxonomy, method="cross-entropy-mlp", width=512, random_state=seed),
        HICLASS: lambda: StandardizedPerParentNode(taxonomy),
    }


def outcome(classifier: Any, fit: tuple[Any, Any], test: tuple[Any, Any], taxonomy: Taxonomy) -> tuple[float, ...]:
    """Top-1 in percent, HOPS, and log-loss on the test samples."""
    classifier.fit(*fit)
    answers, labels = np.asarray(classifier.predict(test[0])), torch.tensor(test[1])
    ranking = all_columns(classifier.decision_function(test[0]), classifier.classes_, taxonomy)
    products = isinstance(classifier, PerParentNode)  # its decision function holds probabilities, its own ones do not
    known = classifier.decision_function(test[0]) if products else classifier.predict_proba(test[0])
    probabilities = all_columns(np.asarray(known), classifier.classes_, taxonomy).clamp(min=1e-12)
    own = probabilities.gather(1, labels[:, None])
    hops = float(HF.hops(ranking, labels, taxonomy).mean())
    return 100 * float((answers == test[1]).mean()), hops, float(-own.log().mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--shots", default="1,2,5,10,20")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--without", default="", help="candidates to leave out, separated by commas")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # one sample of each, on purpose
    data = features_of(completed(load_dataset(asked.data)))
    dataset, taxonomy = data.dataset, data.taxonomy
    features = data.values if issparse(data.values) else np.asarray(data.values)
    train, test = dataset.rows("train"), dataset.rows("test")
    print("| samples a class | candidate | top-1 % | minus the best flat | HOPS | log-loss |")
    print("|---|---|---:|---:|---:|---:|")
    for shots in map(int, asked.shots.split(",")):
        found: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(asked.draws):
            rows = train[few_shot_rows(dataset.labels[train], shots, seed)]
            fit = features[rows], dataset.labels[rows]
            tested = features[test], dataset.labels[test]
            for name, make in candidates(taxonomy, seed).items():
                if name not in asked.without.split(","):
                    found.setdefault(name, []).append(outcome(make(), fit, tested, taxonomy))
        print_rows(shots, {name: np.array(values) for name, values in found.items()})


def print_rows(shots: int, found: dict[str, np.ndarray]) -> None:
    """Print a row of each candidate; `found` has shape (draws, 3) for each."""
    flat = max((name for name in (FLAT, WIDE) if name in found), key=lambda name: found[name][:, 0].mean())
    for name, values in found.items():
        gain = values[:, 0] - found[flat][:, 0]
        half = stats.t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        top1, hops, loss = values.mean(axis=0)
        shown = "" if name == flat else f"{gain.mean():+.2f} ±{half:.2f}"
        print(f"| {shots} | `{name}` | {top1:.2f} | {shown} | {hops:.3f} | {loss:.3f} |", flush=True)


if __name__ == "__main__":
    main()
