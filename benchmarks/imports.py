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
TIMED = "from time import perf_counter; start = perf_counter(); {code}; print(perf_counter() - start)"
LIBRARIES = "import torch, sklearn.base, sklearn.metrics, sklearn.utils.validation"
ESTIMATOR = "from hiercos import HierarchicalClassifier"
OPTIMIZER = "torch.optim.AdamW([torch.zeros(2, requires_grad=True)])"
SAMPLES = """
import numpy as np
from hiercos import HierarchicalClassifier, Taxonomy
tree = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
labels = np.arange({rows}) % 3
samples = np.random.default_rng(0).normal(size=({rows}, 8)) + 3 * np.eye(3, 8)[labels]
"""
FIT = "HierarchicalClassifier(tree, device='cpu').fit(samples, labels)"
CODES = {
    "libraries": TIMED.format(code=LIBRARIES),
    "estimator": TIMED.format(code=ESTIMATOR),
    "first optimizer": f"{LIBRARIES}\n{TIMED.format(code=OPTIMIZER)}",
    "first fit, 120 rows": SAMPLES.format(rows=120) + TIMED.format(code=FIT),
    "second fit, 120 rows": SAMPLES.format(rows=120) + f"{FIT}\n{TIMED.format(code=FIT)}",
    "first fit, 1,200 rows": SAMPLES.format(rows=1200) + TIMED.format(code=FIT),
    "second fit, 1,200 rows": SAMPLES.format(rows=1200) + f"{FIT}\n{TIMED.format(code=FIT)}",
}


def seconds(code: str) -> float:
    """What a fresh process prints; bytecode may be kept, as it is of installed packages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def main() -> None:
    """Print the medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="processes for each figure")
    rounds = parser.parse_args().rounds
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, {rounds} rounds in turn\n"
    )
    for code in CODES.values():
        seconds(code)  # files are read from the disk once
    taken = [{name: seconds(code) for name, code in CODES.items()} for _ in range(rounds)]
    medians = {name: median(turn[name] for turn in taken) for name in CODES}
    for name, value in medians.items():
        print(f"{name:26}{value:8.2f} s")
    ratio = median(turn["estimator"] / turn["libraries"] for turn in taken)
    print(f"\nimport of the estimator over that of its libraries: {ratio:.2f} (at most {LIMIT})")
    sys.exit(int(ratio > LIMIT))


if __name__ == "__main__":
    main()
