"""Answers that are sure enough, on the test scores of finished runs: python benchmarks/answers.py MODEL [MODEL …]

MODEL is a folder of `hiercos train`, whose scores.npz holds the scores of the test split. For each it prints
  (a) the coverage of back-off, DARTS, SpeciesNet's constants and a threshold on the class, at equal containment;
  (b) the metrics of the answers of all rules, as a table in Markdown with half the 95% interval;
  (c) top-1 over all classes and over those of the true node of the level above the classes;
  (d) accuracy at each level, of the path of the likeliest class, of `crm`, of the best chain, and of the likeliest node
      of each level by itself, whose answers need not be a path (with --levels, nothing but this).
"""

import argparse
from pathlib import Path

import numpy as np

from hiercos.decisions import Posterior, Rule, rule
from hiercos.evaluation import LabelledPosterior, values_by_rule
from hiercos.metrics import functional as HF
from hiercos.training import tested_run

MOST = 6000  # test rows
SHORT = {
    "hierarchical_precision": "hP",
    "hierarchical_recall": "hR",
    "hierarchical_f1": "hF1",
    "edge_distance": "edges",
}


def test_scores(folder: Path) -> LabelledPosterior:
    """Posterior of a model's test split, from its stored scores."""
    tested = tested_run(folder, held_out=False)
    order = np.random.default_rng(0).permutation(len(tested.labels))[:MOST]
    return LabelledPosterior(tested.posterior.rows(order), tested.posterior.taxonomy.leaves[tested.labels[order]])


def operating_points(tested: LabelledPosterior, rules: list[Rule]) -> np.ndarray:
    """Containment and coverage of each rule, shape (K, 2)."""
    columns = [HF.ANSWER_METRICS.index(name) for name in ("containment", "coverage")]
    return np.array([values[:, columns].mean(axis=0) for values in values_by_rule(tested, rules)])


def best_coverage(points: np.ndarray, target: float) -> float:
    """The highest coverage of the points whose containment reaches the target; nan without one."""
    return max(points[points[:, 0] >= target, 1].tolist(), default=np.nan)


def print_coverage(tested: LabelledPosterior) -> None:
    """Part (a)."""
    thresholds = (1 - np.geomspace(1e-4, 1, 60)).tolist()
    families = {
        "back-off": [rule("back-off", confidence=max(value, 1e-9)) for value in thresholds],
        "darts": [rule("darts", reward=value) for value in np.geomspace(0.01, 2000, 60).tolist()],
        "threshold": [rule("speciesnet", of_class=value, of_node=2.0) for value in thresholds],
        "SpeciesNet's constants": [rule("speciesnet")],
    }
    found = {name: operating_points(tested, rules) for name, rules in families.items()}
    for target in (float(found["SpeciesNet's constants"][0, 0]), 0.9, 0.95, 0.99):
        shown = ", ".join(f"{name} {best_coverage(points, target):.4f}" for name, points in found.items())
        print(f"(a) containment {target:.4f}: coverage of {shown}")


def fitted_rules(posterior: Posterior, nodes: np.ndarray) -> dict[str, Rule]:
    """All rules, those with targets or thresholds fitted on the given samples."""
    names = ("none", "crm", "hops", "hie", "majority", "plurality", "hf-beta", "speciesnet")
    targets = {"target_containment": 0.95, "target_precision": 0.95, "max_overshoot": 0.3}
    return {
        **{f"`{name}`": rule(name) for name in names},
        "`hf-beta`, beta 0.5": rule("hf-beta", beta=0.5),
        "threshold 0.9 on the class": rule("speciesnet", of_class=0.9, of_node=2.0),
        "`darts`, accuracy 0.95": rule("darts", accuracy=0.95).fit(posterior, nodes),
        "`unknown`": rule("unknown").fit(posterior, nodes),
        "`back-off`, confidence 0.9": rule("back-off", confidence=0.9),
        **{
            f"`back-off`, {name} {value}": rule("back-off", **{name: value}).fit(posterior, nodes)
            for name, value in targets.items()
        },
    }


def short(value: float) -> str:
    """A number with three digits, without a leading zero."""
    return f"{value:.3f}".removeprefix("0")


def print_rules(tested: LabelledPosterior) -> None:
    """Part (b)."""
    half = len(tested.nodes) // 2
    rules = fitted_rules(tested.posterior.rows(slice(0, half)), tested.nodes[:half])
    rows = LabelledPosterior(tested.posterior.rows(slice(half, None)), tested.nodes[half:])
    print(f"(b) {half:,} rows to fit, {len(rows.nodes):,} to test")
    names = [SHORT.get(name, name) for name in HF.ANSWER_METRICS]
    print("| rule | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for name, values in zip(rules, values_by_rule(rows, list(rules.values())), strict=True):
        means, counts = np.nanmean(values, axis=0), (~np.isnan(values)).sum(axis=0)
        widths = 1.96 * np.nanstd(values, axis=0) / np.sqrt(np.maximum(counts, 1))
        cells = (f"{short(mean)} ±{short(width)}" for mean, width in zip(means, widths, strict=True))
        print(f"| {name} | " + " | ".join(cells) + " |")


def print_restriction(tested: LabelledPosterior) -> None:
    """Part (c)."""
    taxonomy, posterior = tested.posterior.taxonomy, tested.posterior
    allowed = taxonomy.parents[taxonomy.leaves] == taxonomy.parents[tested.nodes][:, None]
    shares = [np.mean(rule("none")(each).nodes == tested.nodes) for each in (posterior, posterior.reweighted(allowed))]
    print(f"(c) top-1 {shares[0]:.4f}, within the true parent {shares[1]:.4f}")


def print_levels(tested: LabelledPosterior) -> None:
    """Part (d), over the rows whose true path reaches the level."""
    taxonomy, posterior = tested.posterior.taxonomy, tested.posterior
    rules = {"likeliest class": rule("none"), "crm": rule("crm")}
    rules["best chain"] = rule("back-off", min_level=taxonomy.height)
    true = taxonomy.path_table(tested.nodes)
    for name, each in rules.items():
        decision = each(posterior)
        right = np.nanmean(np.where(true >= 0, decision.paths == true, np.nan), axis=0)
        top1 = np.mean(decision.nodes == tested.nodes)
        print(f"(d) {name}: {', '.join(f'{share:.4f}' for share in right)}; the answer itself {top1:.4f}")
    levels = np.split(np.arange(taxonomy.num_nodes), taxonomy.level_starts[1:-1])
    own = np.stack([nodes[posterior.nodes[:, nodes].argmax(axis=1)] for nodes in levels], axis=1)
    right = np.nanmean(np.where(true >= 0, own == true, np.nan), axis=0)
    print(f"(d) each level by itself: {', '.join(f'{share:.4f}' for share in right)}")
    is_path = (taxonomy.parents[own[:, 1:]] == own[:, :-1]).all(axis=1)
    print(f"(d) levels by themselves are a path: {is_path.mean():.4f} of {len(true):,} rows")


def main() -> None:
    """Print all parts, or those asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--levels", action="store_true")
    options = parser.parse_args()
    parts = (print_levels,) if options.levels else (print_coverage, print_rules, print_restriction, print_levels)
    for folder in options.models:
        tested = test_scores(folder)
        print(f"{folder.name}: {tested.posterior.taxonomy!r}")
        for part in parts:
            part(tested)


if __name__ == "__main__":
    main()
