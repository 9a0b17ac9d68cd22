"""Ways to calibrate on held-out log-loss: python benchmarks/calibration.py MODEL DATA [MODEL DATA …]

MODEL is a folder of `hiercos train` and DATA what it was trained on. The scores of its validation rows are halved at
random, each way is fitted on one half and measured on the other, and the two are averaged:
  temperature  softmax(scores / T)
  vector       softmax(w * scores + b) with a weight and an offset for each class, drawn to 1 / T and 0 by a penalty;
               all penalties are shown, so that the best one is chosen in hindsight, in its favour
  isotonic     for each level one rising function from the probabilities of nodes to shares of right ones, made
               consistent by dividing among siblings
The test rows are not read. Prints mean log-loss and its paired difference from temperature with half the 95% interval.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lightning_fabric import Fabric
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from hiercos.data import as_inputs, load_dataset
from hiercos.decisions import Posterior, fit_temperature, log_softmax
from hiercos.encoders import ReadConfig
from hiercos.model import Classifier
from hiercos.taxonomy import Taxonomy

PENALTIES = (1.0, 10.0, 100.0, 1000.0)
LEAST = 1e-3  # share of the original probability that isotonic regression leaves
Fit = Callable[[np.ndarray, np.ndarray, Taxonomy], Callable[[np.ndarray], np.ndarray]]  # scores, labels -> log p


def validation_scores(folder: Path, source: str) -> tuple[np.ndarray, np.ndarray, Taxonomy]:
    """Scores (M, C) and classes (M,) of the validation rows."""
    stored, data = Classifier.load(folder), load_dataset(source)
    rows, fabric = data.rows("val"), Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    config = ReadConfig(fabric)
    inputs = as_inputs(data.inputs.values(rows) if data.kind == "texts" else np.asarray(data.inputs)[rows], data.kind)
    return stored.scores(inputs, config).of_probabilities, np.asarray(data.labels)[rows], stored.model.taxonomy


def by_temperature(scores: np.ndarray, labels: np.ndarray, _: Taxonomy) -> Callable[[np.ndarray], np.ndarray]:
    """Temperature scaling, the package's own."""
    temperature = fit_temperature(scores, labels)
    return lambda new: log_softmax(new, temperature)


def logits(scores: np.ndarray, temperature: float) -> np.ndarray:
    """Scores over the temperature, 0 for the best class of each row."""
    scaled = scores.astype(np.float64) / temperature
    return scaled - scaled.max(axis=1, keepdims=True)


def by_vector(penalty: float) -> Fit:
    """Vector scaling with a penalty on the distance to temperature scaling."""

    def fit(scores: np.ndarray, labels: np.ndarray, _: Taxonomy) -> Callable[[np.ndarray], np.ndarray]:
        temperature = fit_temperature(scores, labels)
        scaled = logits(scores, temperature)
        count, rows = scaled.shape[1], np.arange(len(labels))

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            weights, offsets = parameters[:count], parameters[count:]
            logs = log_softmax(scaled * weights + offsets, 1.0)
            change = np.exp(logs)
            change[rows, labels] -= 1
            away = np.concatenate([weights - 1, offsets])
            slope = np.concatenate([(change * scaled).sum(axis=0), change.sum(axis=0)])
            return -logs[rows, labels].sum() + penalty / 2 * (away @ away), slope + penalty * away

        start = np.concatenate([np.ones(count), np.zeros(count)])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
        return lambda new: log_softmax(logits(new, temperature) * found[:count] + found[count:], 1.0)

    return fit


def by_isotonic(scores: np.ndarray, labels: np.ndarray, taxonomy: Taxonomy) -> Callable[[np.ndarray], np.ndarray]:
    """A rising function for each level, then shares among siblings."""
    temperature = fit_temperature(scores, labels)
    found, paths = (
        Posterior.from_scores(scores, taxonomy, temperature=temperature).nodes,
        taxonomy.path_table(taxonomy.leaves[labels]),
    )
    functions = {}
    for level in range(1, taxonomy.height + 1):
        nodes = np.flatnonzero(taxonomy.depths == level)
        right = nodes == paths[:, level - 1][:, None]
        functions[level] = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
            found[:, nodes].ravel(), right.ravel()
        )

    def logs(new: np.ndarray) -> np.ndarray:
        values = Posterior.from_scores(new, taxonomy, temperature=temperature).nodes.copy()
        for level, function in functions.items():
            nodes = np.flatnonzero(taxonomy.depths == level)
            own = values[:, nodes]
            values[:, nodes] = (1 - LEAST) * function.predict(own.ravel()).reshape(own.shape) + LEAST * own + 1e-12
        return conditional_logs(values, taxonomy)[:, taxonomy.leaves]

    return logs


def conditional_logs(values: np.ndarray, taxonomy: Taxonomy) -> np.ndarray:
    """Logarithm of each node's probability if siblings share their parent's by their values, shape (M, N)."""
    parents = taxonomy.parents
    totals = np.zeros((len(values), taxonomy.num_nodes + 1))
    np.add.at(totals.T, parents, values.T)  # the root is the last column
    logs = np.log(values) - np.log(totals[:, parents])
    for node in np.flatnonzero(parents >= 0):  # parents come first
        logs[:, node] += logs[:, parents[node]]
    return logs


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", help="MODEL DATA [MODEL DATA …]")
    given = parser.parse_args().pairs
    ways: dict[str, Fit] = {
        "temperature": by_temperature,
        **{f"vector, penalty {penalty:g}": by_vector(penalty) for penalty in PENALTIES},
        "isotonic a level": by_isotonic,
    }
    for folder, source in zip(given[::2], given[1::2], strict=True):
        scores, labels, taxonomy = validation_scores(Path(folder), source)
        order = np.random.default_rng(0).permutation(len(labels))
        halves = np.array_split(order, 2)
        print(f"{folder}: {len(labels):,} validation rows, {taxonomy!r}", flush=True)
        losses = {}
        for name, fit in ways.items():
            parts = []
            for fitted, held in (halves, halves[::-1]):
                logs = fit(scores[fitted], labels[fitted], taxonomy)(scores[held])
                parts.append(-logs[np.arange(len(held)), labels[held]])
            losses[name] = np.concatenate(parts)
            gain = losses[name] - losses["temperature"]
            width = 1.96 * gain.std() / len(gain) ** 0.5
            print(f"  {name:22} {losses[name].mean():.4f}  {gain.mean():+.4f} ±{width:.4f}", flush=True)


if __name__ == "__main__":
    main()
