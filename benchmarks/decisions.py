"""What the decision rules cost, and how near the order for HOPS comes to the best: python benchmarks/decisions.py

Prints
  (a) the answers of each rule over the softmax of the same scores, measured in turn, on the iNaturalist-19 tree;
  (b) for 100, 221 and 1,271 classes, each in a process of its own: rows a second (1 thread) and peak memory of the
      order for HOPS, and the expected HOPS that it and the order by CRM lose against the best order behind the answer;
  (c) with --runs COMPARISON, the folder of `hiercos compare`: for each of its models, the same of its test rows.

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
from hiercos.decisions.best_order import tree_blocks
from hiercos.geometry import class_path_sums
from hiercos.taxonomy import Floats, IntArray
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


def costs_behind(posterior: Posterior, answers: IntArray) -> Iterator[tuple[Floats, IntArray]]:
    """Expected cost of the other classes at the positions behind the answer, (C - 1, C - 1), and these classes."""
    places = np.arange(1, posterior.taxonomy.num_classes)
    for row, answer in enumerate(answers):
        ((block,),) = tree_blocks(posterior.rows([row]), answer[None], exact=True)
        yield block.table(0, places, places), block.queue[0, 1:]


def lost_hops(scores: Floats, posterior: Posterior) -> Floats:
    """Expected HOPS that orders lose against the best assignment of the other classes behind the same answers."""
    orders = np.argsort(-scores, axis=1, kind="stable")
    lost = []
    for order, (costs, queue) in zip(orders, costs_behind(posterior, orders[:, 0]), strict=True):
        columns = np.empty(len(order), dtype=np.int64)
        columns[queue] = np.arange(len(queue))
        positions, best = linear_sum_assignment(costs)
        lost.append(costs[positions, columns[order[1:]]].sum() - costs[positions, best].sum())
    return np.array(lost)


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
    rows = posterior.rows(slice(solved))
    rule("hops").ranking(rows)  # fills the caches
    start = process_time()
    scores = rule("hops").ranking(posterior)
    seconds = process_time() - start
    start = process_time()
    Posterior.from_scores(posterior.scores, taxonomy).nodes.sum()
    bare = process_time() - start
    peak = peak_mebibytes() - before
    print(f"    {SAMPLES:,} samples; {likely.mean():.0f} labels have 0.999 of the probability on average")
    print(
        f"    order for HOPS: {SAMPLES / seconds:,.0f} rows/s, {seconds / bare:.1f} times the posterior of every node,"
    )
    print(f"    peak {peak:.0f} MiB more")
    start = process_time()
    nearest = rule("crm").ranking(rows)
    nearest[np.arange(solved), rule("hops")(rows).classes] = np.inf
    lost = {"crm behind the answer": lost_hops(nearest, rows), "rule": lost_hops(scores[:solved], rows)}
    print(f"    two assignments of all positions: {1e3 * (process_time() - start) / solved:.0f} ms a sample")
    for name, values in lost.items():
        print(f"    expected HOPS lost by {name}: median {np.median(values):.1e}, largest {values.max():.1e}")


def print_runs(runs: Path, rows: int, solved: int) -> None:
    """Part (c) for the runs of a comparison."""
    for file in sorted(runs.glob("runs/*/seed-*/config.json")):
        posterior = tested_run(file.parent, held_out=False).posterior.rows(slice(rows))
        some = posterior.rows(slice(solved))
        rule("hops").ranking(some)
        start = process_time()
        scores = rule("hops").ranking(posterior)
        speed = len(posterior) / (process_time() - start)
        lost = lost_hops(scores[:solved], some)
        print(f"(c) {file.parent.relative_to(runs)}: {speed:,.0f} rows/s, ", end="")
        print(f"expected HOPS lost at most {lost.max():.1e} in {len(lost)} rows", flush=True)


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
        print_runs(options.runs, options.rows, options.solved)
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
