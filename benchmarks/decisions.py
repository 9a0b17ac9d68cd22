"""What the decision rules cost, and how near the order for HOPS comes to the best: python benchmarks/decisions.py

Prints
  (a) the answers of each rule over the softmax of the same scores, measured in turn, on the iNaturalist-19 tree;
  (b) for 100, 221 and 1,271 classes, each in a process of its own: processor time (1 thread) and peak memory of the
      order for HOPS, and the expected HOPS of the order by probability, by CRM, by the rule, and of the best order;
  (c) with --runs COMPARISON, the folder of `hiercos compare`: for each of its models, in how many test rows the answer
      of `hops` is the first class of the best order of all, and the expected HOPS that keeping it first gives up.

The scores of (b) stand for a trained model's: one normal number for each node, times 4, summed along the paths.
"""

import argparse
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from geometry import THREADS, interleaved_seconds, print_ratio
from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.decisions.best_order import cost_steps, expected_costs
from hiercos.geometry import class_path_sums
from hiercos.taxonomy import Floats
from hiercos.training import tested_run
from trees import inaturalist_tree, tree_called

ROWS, SAMPLES, SPREAD = 10_000, 1_000, 4.0
SOLVED = {"cifar100": 100, "icd10cm:9,10,11,13": 50, "icd10cm": 20}  # samples whose best order is worked out


def print_answers() -> None:
    """Part (a)."""
    taxonomy, name = inaturalist_tree()
    scores = np.random.default_rng(0).normal(size=(ROWS, taxonomy.num_classes)).astype(np.float32)
    posterior = Posterior.from_scores(scores, taxonomy)
    print(f"(a) {name}: {taxonomy!r}, {ROWS:,} samples")
    for rule_name in ("none", "crm", "hops"):
        decide = rule(rule_name)
        times, baseline = interleaved_seconds(
            lambda decide=decide: [decide(batch) for batch in posterior.batches()],  # type: ignore[misc]
            lambda: [Posterior.from_scores(batch.scores, taxonomy) for batch in posterior.batches()],  # type: ignore[func-returns-value]
        )
        print_ratio(f"answers of {rule_name} over the softmax", times, baseline)


def likeness_posterior(taxonomy: Taxonomy, rows: int) -> Posterior:
    """Posteriors from random scores under which relatives are alike."""
    scores = class_path_sums(SPREAD * torch.randn(rows, taxonomy.num_nodes), taxonomy)
    return Posterior.from_scores(scores.numpy(), taxonomy)


def mean_expected_hops(scores: Floats, posterior: Posterior) -> float:
    """Mean expected HOPS, without the clip, of the orders that scores make."""
    orders, positions = np.argsort(-scores, axis=1, kind="stable"), np.arange(scores.shape[1])
    values = [1 - costs[order, positions].sum() for order, costs in zip(orders, class_costs(posterior), strict=True)]
    return float(np.mean(values))


def class_costs(posterior: Posterior) -> Iterator[Floats]:
    """The expected cost of each class at each position, shape (C, C), for each sample."""
    taxonomy, every = posterior.taxonomy, np.arange(posterior.taxonomy.num_classes)
    paths, table = taxonomy.path_table(taxonomy.leaves), cost_steps(taxonomy, every)
    for row in posterior.classes:
        costs = expected_costs(taxonomy, paths, table, every, row)
        yield costs.costs[costs.groups]


def best_orders(posterior: Posterior) -> Floats:
    """Scores of the orders with the highest expected HOPS of all, whatever class comes first."""
    scores = np.empty(posterior.classes.shape)
    for own, costs in zip(scores, class_costs(posterior), strict=True):
        own[linear_sum_assignment(costs.T)[1]] = np.arange(len(own), 0, -1)
    return scores


def peak_mebibytes() -> float:
    """The most memory this process ever had; not from `resource`, which counts the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kibibytes) / 2**10


def print_hops_order(taxonomy: Taxonomy, solved: int) -> None:
    """Part (b) for one tree."""
    posterior = likeness_posterior(taxonomy, SAMPLES)
    likely = (np.cumsum(-np.sort(-posterior.classes, axis=1), axis=1) < 0.999).sum(axis=1) + 1
    before = peak_mebibytes()
    start = process_time()
    scores = rule("hops").ranking(posterior)
    seconds = process_time() - start
    peak = peak_mebibytes() - before
    print(f"    {SAMPLES:,} samples; {likely.mean():.0f} labels have 0.999 of the probability on average")
    print(f"    order for HOPS: {1e3 * seconds / SAMPLES:.2f} ms a sample, peak {peak:.0f} MiB more")
    some = posterior.rows(slice(solved))
    start = process_time()
    best = best_orders(some)
    print(f"    the best order of all: {1e3 * (process_time() - start) / len(some):.1f} ms a sample")
    orders = {"probability": some.classes, "crm": rule("crm").ranking(some), "rule": scores[:solved], "best": best}
    values = {name: mean_expected_hops(made, some) for name, made in orders.items()}
    print("    expected HOPS:", ", ".join(f"{name} {value:.5f}" for name, value in values.items()))


def print_given_up(runs: Path, rows: int) -> None:
    """Part (c) for the runs of a comparison."""
    for file in sorted(runs.glob("runs/*/seed-*/config.json")):
        posterior = tested_run(file.parent, held_out=False).posterior.rows(slice(rows))
        best, ours = best_orders(posterior), rule("hops").ranking(posterior)
        same = np.mean(best.argmax(axis=1) == ours.argmax(axis=1))
        given_up = mean_expected_hops(best, posterior) - mean_expected_hops(ours, posterior)
        print(
            f"(c) {file.parent.relative_to(runs)}: {len(posterior)} rows, first class the same in {same:.2%}, ", end=""
        )
        print(f"expected HOPS given up {given_up:.6f}", flush=True)


def main() -> None:
    """Print (a), then (b) in fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", help="only (b), for the tree of this file")
    parser.add_argument("--solved", type=int, default=20, help="samples of that tree whose best order is worked out")
    parser.add_argument("--runs", type=Path, help="only (c), for the comparison in this folder")
    parser.add_argument("--rows", type=int, default=400, help="test rows of each of its models")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("peak memory is read from /proc: Linux only")
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    if options.runs:
        print_given_up(options.runs, options.rows)
        return
    if options.tree:
        torch.set_num_threads(1)
        print_hops_order(Taxonomy.read(options.tree), options.solved)
        return
    print(f"torch {torch.__version__}, {THREADS} threads, {platform.machine()}")
    print_answers()
    with TemporaryDirectory() as folder:
        file = str(Path(folder, "tree.json"))
        for name, solved in SOLVED.items():
            taxonomy = tree_called(name)
            taxonomy.write(file)
            print(f"(b) {name}: {taxonomy!r}", flush=True)
            subprocess.run([sys.executable, __file__, "--tree", file, "--solved", str(solved)], check=True)


if __name__ == "__main__":
    main()
