"""Time of restricted over unrestricted prediction: python benchmarks/restriction.py MODEL FEATURES.npz

Vectors go through the network, the decision rule and the CSV writer as in `hiercos predict`: over all classes, within
one node of level 1 for all rows (`--within`), and within the true node above the class for each row
(`--within-column`). The three are timed in turn, so that what else the machine does falls on all alike, and the
shortest processor time of each counts. Prints top-1, microseconds of a sample and the quotients, also from scores to
answers alone.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

from hiercos.data import InputBatch, Vectors, load_dataset
from hiercos.decisions import AnswerRequest, Posterior
from hiercos.decisions.posterior import classes_at_or_below
from hiercos.evaluation import RowWeights
from hiercos.model import Classifier, answer_columns
from hiercos.storage import csv_text
from hiercos.taxonomy import IntArray, Taxonomy


def shortest_times(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Shortest processor time in seconds of each piece of work, all done in turn."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            began = process_time()
            work()
            best[name] = min(best[name], process_time() - began)
    return best


def true_parents(batch: InputBatch, labels: IntArray, taxonomy: Taxonomy) -> RowWeights:
    """The classes of the true node above the class, by row number, as `--within-column` reads them."""
    parents, places = np.unique(taxonomy.parents[labels], return_inverse=True)
    masks = [classes_at_or_below([parent], taxonomy) for parent in parents]
    every = np.ones(taxonomy.num_classes, dtype=bool)
    return RowWeights(np.stack([*masks, every]), dict(zip(batch.numbers, places.tolist(), strict=True)), "the column")


def main() -> None:
    """Print top-1, the times and their quotients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("features", type=Path)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    stored, data = Classifier.load(options.model), load_dataset(options.features)
    taxonomy, rule = stored.model.taxonomy, stored.rule
    rows = data.rows("test")[: options.rows]
    vectors, labels = np.asarray(data.inputs)[rows], taxonomy.leaves[data.labels[rows]]
    batch = InputBatch(range(1, len(rows) + 1), Vectors(vectors))
    request = AnswerRequest(within=[taxonomy.names[int(taxonomy.path(int(labels[0]))[0])]])
    own = true_parents(batch, labels, taxonomy)
    limits: dict[str, Callable[[Posterior], Posterior]] = {
        "all classes": lambda posterior: posterior,
        "one node for all": request.restricted,
        "a node for each row": lambda posterior: own.applied(posterior, batch.numbers),
    }
    scores = stored.scores(batch.inputs)

    def predicted(limit: Callable[[Posterior], Posterior]) -> str:
        posterior = limit(stored.posterior(vectors))
        columns = answer_columns(batch, posterior, rule)
        return csv_text([list(columns), *zip(*columns.values(), strict=True)])

    whole = shortest_times(
        {name: lambda limit=limit: predicted(limit) for name, limit in limits.items()}, options.rounds
    )
    alone = shortest_times(
        {name: lambda limit=limit: rule(limit(stored.calibrated(scores))) for name, limit in limits.items()},
        options.rounds,
    )
    print(f"{options.model.name}: {taxonomy!r}, {len(rows):,} rows, rule {rule.name}")
    for name, limit in limits.items():
        right = np.mean(rule(limit(stored.calibrated(scores))).nodes == labels)
        times = [1e6 * each[name] / len(rows) for each in (whole, alone)]
        ratios = [each[name] / each["all classes"] for each in (whole, alone)]
        print(
            f"  {name:20} top-1 {right:.4f}; prediction {times[0]:7.2f} us ({ratios[0]:.3f}), "
            f"from scores to answers {times[1]:7.2f} us ({ratios[1]:.3f})"
        )


if __name__ == "__main__":
    main()
