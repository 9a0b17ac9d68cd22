"""What the metrics cost beside one bare sort of the scores.

    python benchmarks/metrics.py --tree hierarchies/inaturalist19.csv

Each figure is the median over repetitions of the time over that of `torch.sort(scores, descending=True)`, measured
just before it. On a busy machine many short parallel steps wait longer than one long one, so run it on an idle one.
The large tree runs in a process of its own for its peak memory.
"""

import argparse
import csv
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from hiercos import Taxonomy
from hiercos.metrics import HOPS, default_suite


def level_tree(path: Path) -> Taxonomy:
    """A tree from a table with one row per class and columns level_1…level_H, blank beyond a class's depth."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    levels = [name for name in rows[0] if name.startswith("level_")]
    return Taxonomy.from_paths([tuple(row[name] for name in levels if row[name]) for row in rows])


def large_tree(classes: int) -> Taxonomy:
    """A random tree of height about 7 with leaves at several depths."""
    generator = np.random.default_rng(0)
    paths = []
    for number in range(classes):
        branch = generator.integers(0, 6, size=generator.integers(3, 7))
        paths.append((*(f"{depth}-{step}" for depth, step in enumerate(branch)), f"class {number}"))
    return Taxonomy.from_paths(paths)


def seconds(run: Callable[[], object]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def processor_seconds(run: Callable[[], object]) -> float:
    """The processor time of one call, over all threads."""
    start = time.process_time()
    run()
    return time.process_time() - start


def median_ratio(
    run: Callable[[], object],
    scores: torch.Tensor,
    repeats: int,
    clock: Callable[[Callable[[], object]], float],
) -> float:
    """Median of a call's time over that of a bare sort just before it."""
    run()
    pairs = [(clock(lambda: torch.sort(scores, descending=True)), clock(run)) for _ in range(repeats)]
    return statistics.median(mine / sort for sort, mine in pairs)


def compare_with_sort(tree: Path, rows: int, repeats: int) -> None:
    """Print the cost of the suite and of HOPS@20 on random scores."""
    taxonomy = level_tree(tree)
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(rows, taxonomy.num_classes, generator=generator)
    labels = torch.randint(taxonomy.num_classes, (rows,), generator=generator)
    suite, hops = default_suite(taxonomy), HOPS(taxonomy, k=20)
    print(f"{taxonomy}, {rows} samples, {torch.get_num_threads()} threads")
    for name, run in (("default_suite", suite.update), ("HOPS@20", hops.update)):
        call = partial(run, scores, labels)
        wall = median_ratio(call, scores, repeats, seconds)
        processor = median_ratio(call, scores, repeats, processor_seconds)
        print(f"{name:15} {wall:.2f} x sort by the clock, {processor:.2f} x sort in processor time")


def sort_in_parts(scores: torch.Tensor) -> None:
    """A bare sort, some rows at a time."""
    for part in scores.split(32):
        torch.sort(part, descending=True)


def measure_large(classes: int, rows: int) -> None:
    """Print time and peak memory of the suite and of HOPS@20 with many classes."""
    taxonomy = large_tree(classes)
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(rows, classes, generator=generator)
    labels = torch.randint(classes, (rows,), generator=generator)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{taxonomy}, {rows} samples; scores take {scores.nbytes / 2**20:.0f} MiB")
    print(f"{'sort':15} {seconds(lambda: sort_in_parts(scores)):.3f} s")
    for name, metric in (("HOPS@20", HOPS(taxonomy, k=20)), ("default_suite", default_suite(taxonomy))):
        first, again = (seconds(partial(metric.update, scores, labels)) for _ in range(2))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{name:15} {again:.3f} s ({first:.3f} s at first), peak {(peak - before) / 2**10:.0f} MiB more")


def main() -> None:
    """Run the comparison, then the large tree in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, help="table of the tree to compare on")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--large", type=int, metavar="CLASSES", help="only measure a random tree of this size")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.large:
        measure_large(options.large, rows=1_000)
        return
    if options.tree:
        compare_with_sort(options.tree, options.rows, options.repeats)
    subprocess.run([sys.executable, __file__, "--large", "100000"], check=True)


if __name__ == "__main__":
    main()
