"""Cost of graphs for trees: python benchmarks/graph_cost.py BEFORE

BEFORE is the folder `src` of another version, such as the one before graphs were accepted (`git worktree add ../before
COMMIT`). Both versions run the same steps on the tree of iNaturalist-19 in turn, each in a process of its own with one
thread, and the ratio of their CPU times is printed for each step. Ends with exit status 1 where one is above 1.05.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

ROUNDS, BATCH, LIMIT, LEAST_SECONDS = 15, 256, 1.05, 0.2
NAMES = ("scores and loss with gradients", "HOPS", "posterior and back-off", "posterior and crm")


def steps() -> list[Callable[[], object]]:
    """The timed steps, in the order of NAMES, of the version of hiercos that is imported."""
    import torch

    from hiercos.decisions import Posterior, rule
    from hiercos.geometry import leaf_scores
    from hiercos.losses import HierCOSLoss
    from hiercos.metrics import functional as HF
    from trees import inaturalist_tree

    torch.set_num_threads(1)
    tree, _ = inaturalist_tree()
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(BATCH, tree.num_nodes, generator=generator, requires_grad=True)
    labels = torch.randint(0, tree.num_classes, (BATCH,), generator=generator)
    scores, loss = torch.randn(BATCH, tree.num_classes, generator=generator), HierCOSLoss(tree)
    logits = scores.numpy()

    def trained() -> None:
        (loss(z, labels) + leaf_scores(z, tree).mean()).backward()
        z.grad = None

    return [
        trained,
        lambda: HF.hops(scores, labels, tree),
        lambda: rule("back-off", confidence=0.5)(Posterior.from_scores(logits, tree)),
        lambda: rule("crm")(Posterior.from_scores(logits, tree)),
    ]


def worker() -> None:
    """Answer each number that comes in, that of a step, with the CPU seconds of one call."""
    timed = steps()
    repeats = [1] * len(timed)
    for place, step in enumerate(timed):
        step()
        start = time.process_time()
        step()
        repeats[place] = max(1, round(LEAST_SECONDS / max(time.process_time() - start, 1e-6)))
    print("ready", flush=True)
    for line in sys.stdin:
        place = int(line)
        start = time.process_time()
        for _ in range(repeats[place]):
            timed[place]()
        print((time.process_time() - start) / repeats[place], flush=True)


def started(source: str) -> "subprocess.Popen[str]":
    """A worker on the version of a source folder."""
    folder = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, folder]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker"]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError(f"the version in {source} does not run the steps")
    return process


def seconds(process: "subprocess.Popen[str]", place: int) -> float:
    """CPU seconds of a step in a worker."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(place, file=process.stdin, flush=True)
    return float(process.stdout.readline())


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", help="folder src of the earlier version")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        worker()
        return
    if asked.before is None:
        parser.error("expected the folder src of the earlier version")
    now = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")
    versions, worst = [started(asked.before), started(now)], 0.0
    for place, name in enumerate(NAMES):
        rounds = np.array([[seconds(version, place) for version in versions] for _ in range(ROUNDS)])
        before, after = (median(times.tolist()) for times in rounds.T)
        ratio = median((rounds[:, 1] / rounds[:, 0]).tolist())
        worst = max(worst, ratio)
        print(f"{name}: {1e3 * before:.2f} ms before, {1e3 * after:.2f} ms now, ratio {ratio:.3f}", flush=True)
    for version in versions:
        version.terminate()
    sys.exit(1 if worst > LIMIT else 0)


if __name__ == "__main__":
    main()
