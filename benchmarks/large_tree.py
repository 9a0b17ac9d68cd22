"""A million nodes, and a chain of depth 10,000, from arrays to the first score: python benchmarks/large_tree.py

Time and growth of resident memory after imports, with the names given as a list. The million is set beside
one NumPy sort of as many parents, which any numbering of the nodes must pay; the chain beside one torch
addition for each of its levels.
"""

import gc
import resource
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from hiercos import Taxonomy
from hiercos.geometry import leaf_scores
from trees import shuffled_parents

NODES, DEPTH, CHAIN = 1_000_000, 20, 10_000
MEGABYTE = 1e6


def resident_bytes() -> int:
    """Memory of this process now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def peak_bytes() -> int:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds_of(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def print_tree(names: list[str], parents: NDArray[np.int64], baseline: Callable[[], object], called: str) -> None:
    """Build the tree, score one embedding, and print what both cost beside the baseline."""
    z = torch.ones(1, len(names))
    unit = seconds_of(baseline)
    gc.collect()
    before = resident_bytes()
    start = perf_counter()
    taxonomy = Taxonomy.from_arrays(names, parents)
    built = perf_counter()
    largest = float(leaf_scores(z, taxonomy).max())
    ready = perf_counter()
    growth, peak = resident_bytes() - before, peak_bytes() - before
    again = seconds_of(lambda: leaf_scores(z, taxonomy))
    print(f"{taxonomy!r}, largest score {largest:.3f}")
    print(f"    {ready - start:.2f} s: {built - start:.2f} s to build, {ready - built:.2f} s to the first scores")
    print(f"    ratio {(ready - start) / unit:.1f} over {called} ({unit:.3f} s); scores again {again:.3f} s")
    print(f"    {growth / MEGABYTE:.0f} MB of growth, {peak / MEGABYTE:.0f} MB at its peak")


def one_addition_a_level() -> None:
    """As many additions as the chain has levels."""
    value = torch.ones(1, 1)
    for _ in range(CHAIN):
        value = value + 1


def main() -> None:
    """Print both trees, the small one first, so that the peak is each one's own."""
    if not sys.platform.startswith("linux"):
        raise SystemExit("resident memory is read from /proc: Linux only")
    torch.set_num_threads(2)
    names = [f"n{node}" for node in range(NODES)]
    chain = np.arange(-1, CHAIN - 1)
    print(f"a chain of {CHAIN:,} nodes")
    print_tree(names[:CHAIN], chain, one_addition_a_level, "one torch addition for each level")
    parents = shuffled_parents(NODES, DEPTH)
    print(f"(d) {NODES:,} nodes at {DEPTH} levels: at most 5 s and 500 MB")
    print_tree(names, parents, lambda: np.argsort(parents, kind="stable"), "one stable sort of the parents")


if __name__ == "__main__":
    main()
