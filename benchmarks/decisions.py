"""What the decision rules cost, and how near the order for HOPS comes to the best: python benchmarks/decisions.py

Prints
  (a) crm_scores over the softmax of the same scores, measured in turn, on the iNaturalist-19 tree;
  (b) for 100, 221 and 1,271 classes, each in a process of its own: processor time (1 thread) and peak memory of the
      order for HOPS, and the expected HOPS of the order by probability, by CRM, by the rule, and of the best order.

The scores of (b) stand for a trained model's: one normal number for each node, times 4, summed along the paths.
"""

import argparse
import platform
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import torch
from torch import Tensor

from geometry import THREADS, interleaved_seconds, print_ratio
from hiercos import Taxonomy
from hiercos.decisions import class_probabilities, cost_steps, crm_scores, expected_costs, hops_order_scores
from hiercos.geometry import class_path_sums
from trees import inaturalist_tree, tree_called

ROWS, SAMPLES, SPREAD = 10_000, 1_000, 4.0
SOLVED = {"cifar100": 100, "icd10cm:9,10,11,13": 50, "icd10cm": 20}  # samples whose best order is worked out


def print_least_risk() -> None:
    """Part (a)."""
    taxonomy, name = inaturalist_tree()
    scores = torch.randn(ROWS, taxonomy.num_classes)
    probabilities = scores.softmax(dim=1)
    print(f"(a) {name}: {taxonomy!r}, {ROWS:,} samples")
    times, baseline = interleaved_seconds(
        lambda: crm_scores(probabilities, taxonomy),  # type: ignore[func-returns-value]
        lambda: scores.softmax(dim=1),  # type: ignore[func-returns-value]
    )
    print_ratio("crm_scores over the softmax", times, baseline)


def likeness_scores(taxonomy: Taxonomy, rows: int) -> Tensor:
    """Random scores under which relatives are alike, shape (rows, C)."""
    return class_path_sums(SPREAD * torch.randn(rows, taxonomy.num_nodes), taxonomy)


def mean_expected_hops(scores: Tensor, probabilities: Tensor, taxonomy: Taxonomy) -> float:
    """Mean expected HOPS, without the clip, of the orders that scores make."""
    every, positions = np.arange(taxonomy.num_classes), np.arange(taxonomy.num_classes)
    paths, table = taxonomy.path_table(taxonomy.leaves), cost_steps(taxonomy, every)
    orders = torch.sort(scores, dim=1, descending=True, stable=True).indices.numpy()
    values = []
    for order, row in zip(orders, probabilities.numpy(), strict=True):
        costs = expected_costs(taxonomy, paths, table, every, row)
        values.append(1 - costs.costs[costs.groups[order], positions].sum())
    return float(np.mean(values))


def peak_mebibytes() -> float:
    """The most memory this process ever had; not from `resource`, which counts the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kibibytes) / 2**10


def print_hops_order(taxonomy: Taxonomy, solved: int) -> None:
    """Part (b) for one tree."""
    probabilities = class_probabilities(likeness_scores(taxonomy, SAMPLES))
    likely = (probabilities.sort(dim=1, descending=True).values.cumsum(dim=1) < 0.999).sum(dim=1).double() + 1
    before = peak_mebibytes()
    start = process_time()
    scores = hops_order_scores(probabilities, taxonomy)
    seconds = process_time() - start
    peak = peak_mebibytes() - before
    print(f"    {SAMPLES:,} samples; {likely.mean():.0f} labels have 0.999 of the probability on average")
    print(f"    order for HOPS: {1e3 * seconds / SAMPLES:.2f} ms a sample, peak {peak:.0f} MiB more")
    some = probabilities[:solved]
    start = process_time()
    best = hops_order_scores(some, taxonomy, exact_up_to=taxonomy.num_classes)
    print(f"    the best order: {1e3 * (process_time() - start) / len(some):.1f} ms a sample")
    orders = {"probability": some, "crm": crm_scores(some, taxonomy), "rule": scores[: len(some)], "best": best}
    values = {rule: mean_expected_hops(made, some, taxonomy) for rule, made in orders.items()}
    print("    expected HOPS:", ", ".join(f"{rule} {value:.5f}" for rule, value in values.items()))


def main() -> None:
    """Print (a), then (b) in fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", help="only (b), for the tree of this file")
    parser.add_argument("--solved", type=int, default=20, help="samples of that tree whose best order is worked out")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("peak memory is read from /proc: Linux only")
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    if options.tree:
        torch.set_num_threads(1)
        print_hops_order(Taxonomy.read(options.tree), options.solved)
        return
    print(f"torch {torch.__version__}, {THREADS} threads, {platform.machine()}")
    print_least_risk()
    with TemporaryDirectory() as folder:
        file = str(Path(folder, "tree.json"))
        for name, solved in SOLVED.items():
            taxonomy = tree_called(name)
            taxonomy.write(file)
            print(f"(b) {name}: {taxonomy!r}", flush=True)
            subprocess.run([sys.executable, __file__, "--tree", file, "--solved", str(solved)], check=True)


if __name__ == "__main__":
    main()
