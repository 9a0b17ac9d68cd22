"""What importing the estimator costs beside its libraries: python benchmarks/imports.py

Every figure is a median over fresh processes, which take turns, so whatever else the machine does falls on all of them:
  (a) seconds of `from hiercos import HierarchicalClassifier` over those of
      `import torch, sklearn.base, sklearn.metrics, sklearn.utils.validation` (all that an estimator on torch needs);
  (b) seconds of a first `fit` on a few samples, of a second one, and of a first optimizer of torch alone, which makes
      torch import its compiler: what the first `fit` takes beyond the other two is imports of ours.
Ends with exit status 1 where the ratio of (a) is above 1.5.
"""

import argparse
import os
import platform
import subprocess
import sys
from statistics import median

LIMIT = 1.5
TIMED = "start = perf_counter(); {code}; print(perf_counter() - start)"
LIBRARIES = "import torch, sklearn.base, sklearn.metrics, sklearn.utils.validation"
ESTIMATOR = "from hiercos import HierarchicalClassifier"
OPTIMIZER = "torch.optim.AdamW([torch.zeros(2, requires_grad=True)])"
SAMPLES = """
import numpy as np
labels = np.array(["pet > cat", "pet > dog", "vehicle > car"])[np.arange(120) % 3]
samples = np.random.default_rng(0).normal(size=(120, 8)) + 3 * np.eye(3, 8)[np.arange(120) % 3]
"""
FIT = "HierarchicalClassifier(device='cpu').fit(samples, labels)"


def program(*steps: str, before_second: str = "") -> str:
    """Code that prints the seconds of each step on a line; what comes before the second step is not timed."""
    first, *rest = (TIMED.format(code=step) for step in steps)
    return "\n".join(["from time import perf_counter", first, before_second, *rest])


PROGRAMS = {  # a process each, with the names of the figures it prints
    program(LIBRARIES, OPTIMIZER): ("libraries", "first optimizer"),
    program(ESTIMATOR, FIT, FIT, before_second=SAMPLES): ("estimator", "first fit", "second fit"),
}


def seconds(code: str) -> list[float]:
    """What a fresh process prints; bytecode may be kept, as it is of installed packages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [float(line) for line in ran.stdout.split()]


def one_round() -> dict[str, float]:
    """Every figure once, by name."""
    return {name: value for code, names in PROGRAMS.items() for name, value in zip(names, seconds(code), strict=True)}


def main() -> None:
    """Print the medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="processes for each figure")
    rounds = parser.parse_args().rounds
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, {rounds} rounds in turn\n"
    )
    one_round()  # files are read from the disk once
    taken = [one_round() for _ in range(rounds)]
    for name in taken[0]:
        print(f"{name:26}{median(turn[name] for turn in taken):8.2f} s")
    ratio = median(turn["estimator"] / turn["libraries"] for turn in taken)
    print(f"\nimport of the estimator over that of its libraries: {ratio:.2f} (at most {LIMIT})")
    sys.exit(int(ratio > LIMIT))


if __name__ == "__main__":
    main()
