"""What the metrics cost beside one bare sort of the scores: python benchmarks/metrics.py

Prints
  (a) the default suite and HOPS@20 over `torch.sort(scores, descending=True)` on the iNaturalist-19 tree;
  (b) the same with 100,000 classes in a process of its own, the sort some rows at a time, with peak memory.

(a) by the clock with two threads, which wants an idle machine, and like (b) in processor time of one thread, which
other work hardly changes. Each metric takes turns with the sort; the fastest rounds count, and the ratio of medians
stands beside them.
"""

import argparse
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time

import torch
from torch import Tensor

from decisions import peak_mebibytes
from geometry import interleaved_seconds, print_ratio
from hiercos import Taxonomy
from hiercos.metrics import HOPS, default_suite
from trees import inaturalist_tree, uneven_tree

ROWS, ROUNDS = 10_000, 15
LARGE, LARGE_ROWS, LARGE_ROUNDS = 100_000, 200, 5


def samples(taxonomy: Taxonomy, rows: int) -> tuple[Tensor, Tensor]:
    """Random scores (rows, C) and labels (rows,)."""
    return torch.randn(rows, taxonomy.num_classes), torch.randint(taxonomy.num_classes, (rows,))


def sort_in_parts(scores: Tensor, rows: int) -> None:
    """A bare sort, so many rows at a time."""
    for part in scores.split(rows):
        torch.sort(part, descending=True)


def print_metrics(
    taxonomy: Taxonomy, rows: int, part: int, rounds: int, *, clock: Callable[[], float] = process_time
) -> None:
    """Time of both over the sort in parts of so many rows, and the peak memory that each has reached by its end."""
    scores, labels = samples(taxonomy, rows)
    before = peak_mebibytes()
    print(f"    {taxonomy!r}, {rows:,} samples; the scores take {scores.nbytes / 2**20:.0f} MiB")
    for name, metric in (("HOPS@20", HOPS(taxonomy, k=20)), ("the default suite", default_suite(taxonomy))):
        update, sort = partial(metric.update, scores, labels), partial(sort_in_parts, scores, part)
        update()  # makes the tables
        peak = peak_mebibytes() - before
        times, baseline = interleaved_seconds(update, sort, rounds=rounds, clock=clock)
        print_ratio(f"{name} over a bare sort, peak {peak:.0f} MiB more", times, baseline)


def main() -> None:
    """Print (a), then (b) in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="only (b)")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("peak memory is read from /proc: Linux only")
    torch.manual_seed(0)
    if options.large:
        torch.set_num_threads(1)
        print("(b) a random tree, processor time of one thread")
        print_metrics(uneven_tree(LARGE), LARGE_ROWS, 32, LARGE_ROUNDS)
        return
    print(f"torch {torch.__version__}, {platform.machine()}; rounds of both sides in turn")
    taxonomy, name = inaturalist_tree()
    for threads, clock, words in ((2, perf_counter, "the clock"), (1, process_time, "processor time")):
        torch.set_num_threads(threads)
        print(f"(a) {name}, {words}, threads: {threads}; at most 0.4 and 2.0")
        print_metrics(taxonomy, ROWS, ROWS, ROUNDS, clock=clock)
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, "--large"], check=True)


if __name__ == "__main__":
    main()
