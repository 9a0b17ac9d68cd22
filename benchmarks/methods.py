"""One training step of every method beside cross-entropy-mlp's: python benchmarks/methods.py

Forward, loss, backward and an AdamW step on the iNaturalist-19 tree, 2048 features, batch 256; width 512 for every
method that has one. The methods take turns, so whatever else the machine does falls on all of them. Ends with
exit status 1 where a method takes more than twice the step of cross-entropy-mlp.
"""

import platform
import sys
from collections.abc import Callable
from statistics import median

import torch

from geometry import BATCH, THREADS, interleaved_seconds, training_step
from hiercos import Taxonomy
from hiercos.methods import METHODS
from trees import inaturalist_tree

BASELINE, FEATURES, WIDTH, ROUNDS, LIMIT = "cross-entropy-mlp", 2048, 512, 25, 2.0


def method_step(name: str, taxonomy: Taxonomy) -> tuple[Callable[[], None], int]:
    """A training step of a method, and the number of its weights."""
    options = {"width": WIDTH} if "width" in METHODS.options(name) else {}
    method = METHODS[name](taxonomy, in_features=FEATURES, **options)
    weights = sum(weight.numel() for weight in method.head.parameters())
    return training_step(method.head, method.loss, FEATURES, taxonomy.num_classes), weights


def main() -> None:
    """Print the table."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    taxonomy, tree = inaturalist_tree()
    print(f"torch {torch.__version__}, {THREADS} threads, {platform.machine()}")
    print(f"{tree}: {taxonomy!r}, {FEATURES} features, width {WIDTH}, batch {BATCH}, {ROUNDS} rounds in turn\n")
    steps = {name: method_step(name, taxonomy) for name in METHODS}
    seconds = interleaved_seconds(*(step for step, _ in steps.values()), rounds=ROUNDS)
    medians = dict(zip(steps, map(median, seconds), strict=True))
    fastest = dict(zip(steps, map(min, seconds), strict=True))
    print(f"{'method':20}{'weights':>12}{'median ms':>12}{'ratio':>8}{'fastest ms':>12}{'ratio':>8}")
    ratios = {name: medians[name] / medians[BASELINE] for name in steps}
    for name in sorted(steps, key=medians.__getitem__):
        typical = f"{1e3 * medians[name]:12.1f}{ratios[name]:8.2f}"
        best = f"{1e3 * fastest[name]:12.1f}{fastest[name] / fastest[BASELINE]:8.2f}"
        print(f"{name:20}{steps[name][1]:12,}{typical}{best}")
    print(f"\nlargest ratio {max(ratios.values()):.2f} (at most {LIMIT})")
    sys.exit(int(max(ratios.values()) > LIMIT))


if __name__ == "__main__":
    main()
