"""Answers that are sure enough, on the test scores of finished runs: python benchmarks/answers.py MODEL [MODEL …]

MODEL is a folder of `hiercos train`, whose scores.npz holds the scores of the test split. For each it prints
  (a) 200 random splits of the test rows into calibration and test: the mean, deviation and 5% quantile of the realised
      containment of back-off at four targets, and those of the Beta law that it must follow;
  (b) the coverage of back-off, DARTS, SpeciesNet's constants and a threshold on the class, at equal containment;
  (c) the metrics of the answers of all rules, with half the 95% interval;
  (d) top-1 over all classes and over those of the true node of the level above the classes, and the time of both.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import stats

from hiercos.benchmark import LabelledPosterior, node_answer_values
from hiercos.decisions import Posterior, held_out_chains, rule
from hiercos.engine import load_model
from hiercos.metrics import functional as HF

TARGETS, SPLITS, MOST = (0.8, 0.9, 0.95, 0.99), 200, 6000  # at most so many test rows
SHOWN = ("containment", "precision", "hierarchical_f1", "edge_distance", "coverage", "depth")


def test_scores(folder: Path) -> LabelledPosterior:
    """Posterior of a model's test split, from its stored scores."""
    stored = load_model(folder)
    with np.load(folder / "scores.npz", allow_pickle=False) as arrays:
        order = np.random.default_rng(0).permutation(len(arrays["labels"]))[:MOST]
        posterior = stored.posterior(arrays["scores"][order])
        return LabelledPosterior(posterior, stored.model.taxonomy.leaves[arrays["labels"][order]])


def containment_of_splits(scores: np.ndarray, target: float, count: int) -> np.ndarray:
    """Realised containment over random splits: the share of test scores below the threshold of the others."""
    generator, realised = np.random.default_rng(0), []
    rank = int(np.ceil(round((count + 1) * target, 9)))
    for _ in range(SPLITS):
        order = generator.permutation(len(scores))
        threshold = np.nextafter(np.sort(scores[order[:count]])[rank - 1], np.inf)
        realised.append(np.mean(scores[order[count:]] < threshold))
    return np.array(realised)


def print_splits(tested: LabelledPosterior) -> None:
    """Part (a)."""
    scores = held_out_chains(tested.posterior, tested.nodes).scores
    count = min(1000, len(scores) // 2)
    print(
        f"(a) {len(scores):,} rows, {count:,} for calibration, {SPLITS} splits; the leaf of the chain is right in "
        f"{np.mean(scores == 0):.3f}"
    )
    for target in TARGETS:
        realised, rank = containment_of_splits(scores, target, count), int(np.ceil(round((count + 1) * target, 9)))
        law = stats.betabinom(len(scores) - count, rank, count + 1 - rank)  # the Beta law, seen on a finite test set
        size = len(scores) - count
        print(
            f"    target {target}: mean {realised.mean():.4f} (law {law.mean() / size:.4f}), deviation "
            f"{realised.std():.4f} ({law.std() / size:.4f}), 5% quantile "
            f"{np.quantile(realised, 0.05):.4f} ({law.ppf(0.05) / size:.4f}), "
            f"splits below target {np.mean(realised < target):.2f}"
        )


def at_containment(tested: LabelledPosterior, make, parameters: np.ndarray, target: float) -> tuple[float, float]:
    """Coverage and containment at the parameter whose containment is nearest to the target from above."""
    points = [node_answer_values(tested, make(value)).mean(axis=0) for value in parameters]
    columns = [HF.ANSWER_METRICS.index(name) for name in ("coverage", "containment")]
    found = np.array([point[columns] for point in points])
    enough = found[found[:, 1] >= target]
    return tuple(enough[enough[:, 0].argmax()]) if len(enough) else (float("nan"), float("nan"))


def print_coverage(tested: LabelledPosterior) -> None:
    """Part (b)."""
    thresholds = 1 - np.geomspace(1e-4, 1, 60)
    families = {
        "back-off": (lambda value: rule("back-off", confidence=max(value, 1e-9)), thresholds),
        "darts": (lambda value: rule("darts", reward=float(value)), np.geomspace(0.01, 2000, 60)),
        "threshold": (lambda value: rule("speciesnet", of_class=float(value), of_node=2.0), thresholds),
    }
    constants = node_answer_values(tested, rule("speciesnet")).mean(axis=0)
    fixed = float(constants[HF.ANSWER_METRICS.index("containment")])
    covered = float(constants[HF.ANSWER_METRICS.index("coverage")])
    print(f"(b) coverage at equal containment; SpeciesNet's constants: {covered:.4f} at {fixed:.4f}")
    for target in (fixed, 0.9, 0.95, 0.99):
        shown = ", ".join(
            f"{name} {at_containment(tested, *family, target)[0]:.4f}" for name, family in families.items()
        )
        print(f"    containment {target:.4f}: {shown}")


def print_rules(tested: LabelledPosterior) -> None:
    """Part (c)."""
    half = len(tested.nodes) // 2
    fit, rest = ((tested.posterior.rows(part), tested.nodes[part]) for part in (slice(0, half), slice(half, None)))
    rows = LabelledPosterior(*rest)
    rules = {
        **{name: rule(name) for name in ("none", "crm", "hops", "majority", "plurality", "hf-beta", "speciesnet")},
        "hf-beta 0.5": rule("hf-beta", beta=0.5),
        "darts 0.95": rule("darts", accuracy=0.95).fit(*fit),
        "back-off 0.9": rule("back-off", confidence=0.9),
        "back-off, target 0.95": rule("back-off", target_containment=0.95).fit(*fit),
    }
    print(f"(c) {half:,} rows to fit, {len(rows.nodes):,} to test: {', '.join(SHOWN)}")
    columns = [HF.ANSWER_METRICS.index(name) for name in SHOWN]
    for name, decided in rules.items():
        values = node_answer_values(rows, decided)[:, columns]
        means, counts = np.nanmean(values, axis=0), (~np.isnan(values)).sum(axis=0)
        widths = 1.96 * np.nanstd(values, axis=0) / np.sqrt(np.maximum(counts, 1))
        print(
            f"    {name:22s} "
            + "  ".join(f"{mean:.4f} ±{width:.4f}" for mean, width in zip(means, widths, strict=True))
        )


def print_restriction(tested: LabelledPosterior) -> None:
    """Part (d)."""
    taxonomy, posterior = tested.posterior.taxonomy, tested.posterior
    allowed = (taxonomy.parents[taxonomy.leaves] == taxonomy.parents[tested.nodes][:, None]).astype(np.float64)
    times, found = [], []
    for weights in (None, allowed):
        start = perf_counter()
        made = Posterior.from_scores(posterior.scores, taxonomy, temperature=posterior.temperature or 1.0)
        found.append(rule("crm")(made if weights is None else made.reweighted(weights)).nodes == tested.nodes)
        times.append(1e6 * (perf_counter() - start) / len(tested.nodes))
    print(
        f"(d) top-1 {found[0].mean():.4f}, within the true parent {found[1].mean():.4f}; from scores to answers of crm "
        f"{times[0]:.1f} and {times[1]:.1f} us a sample"
    )


def main() -> None:
    """Print all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    for folder in parser.parse_args().models:
        tested = test_scores(folder)
        print(f"{folder.name}: {tested.posterior.taxonomy!r}")
        for part in (print_splits, print_coverage, print_rules, print_restriction):
            part(tested)


if __name__ == "__main__":
    main()
