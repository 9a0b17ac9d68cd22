"""Two `hiercos train` on the same cores: python benchmarks/busy.py

Trains on synthetic vectors (256 features, 221 classes), with as many threads as there are cores. In each of several
rounds, in turn: one run alone, with threads that wait as OpenMP lets them by default, and with the command's own
setting; then two runs side by side. Prints medians over the rounds of
  (a) seconds of the two side by side, until the last ends, over twice those of one alone;
  (b) seconds of one alone with the command's setting over those with OpenMP's default.
Seconds are of the epochs (from log.csv); the whole process, start included, stands beside them. `--default-pair` runs
two side by side with OpenMP's default, too, which may take very long. Ends with exit status 1 where (a) is above 1.5 or
(b) above 1.1.
"""

import argparse
import csv
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from trees import CHAPTER_LEVELS, layered_tree

FEATURES, PAIR_LIMIT, ALONE_LIMIT = 256, 1.5, 1.1
POLICY = "OMP_WAIT_POLICY"
DEFAULT = {"GOMP_SPINCOUNT": "300000", POLICY: "ACTIVE"}  # of GNU OpenMP where no variable says how threads wait


@dataclass(frozen=True)
class Seconds:
    """Duration of a run or of several at once: of the slowest's epochs, and until the last process ended."""

    epochs: float
    whole: float


def write_data(folder: Path, rows: int) -> None:
    """Vectors around a centre for each class, and the tree."""
    taxonomy, generator = layered_tree(CHAPTER_LEVELS), np.random.default_rng(0)
    labels = np.arange(rows) % taxonomy.num_classes
    centres = generator.normal(size=(taxonomy.num_classes, FEATURES))
    features = (centres[labels] + generator.normal(size=(rows, FEATURES))).astype(np.float32)
    taxonomy.write(folder / "tree.json")
    np.savez(folder / "data.npz", features=features, labels=labels)


def environment(waiting: Mapping[str, str], threads: int) -> dict[str, str]:
    """Variables of a process whose threads wait in this way."""
    others = {name: value for name, value in os.environ.items() if name not in DEFAULT}
    return {**others, **waiting, "OMP_NUM_THREADS": str(threads)}


def run_at_once(folder: Path, variables: Mapping[str, str], options: argparse.Namespace, count: int) -> Seconds:
    """Start so many runs together and wait for all of them."""
    data = ["train", str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json"), "--rule", "none"]
    settings = ["--method", options.method, "--epochs", str(options.epochs), "--device", "cpu"]
    command = [sys.executable, "-m", "hiercos", *data, *settings]
    with TemporaryDirectory(dir=folder) as made:
        start = perf_counter()
        outs = [Path(made) / str(number) for number in range(count)]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        processes = [subprocess.Popen([*command, "--out", str(out)], env=variables, **pipes) for out in outs]
        for process in processes:
            _, errors = process.communicate()
            if process.returncode:
                raise RuntimeError(errors.decode())
        return Seconds(max(map(epoch_seconds, outs)), perf_counter() - start)


def epoch_seconds(out: Path) -> float:
    """Seconds of all epochs of a finished run."""
    with (out / "log.csv").open(newline="", encoding="utf-8") as file:
        return float(list(csv.DictReader(file))[-1]["seconds"])


def compare_settings(folder: Path, options: argparse.Namespace) -> bool:
    """Print the figures; whether both ratios are within their limits."""
    ours, default = (environment(value, options.threads) for value in ({}, DEFAULT))
    plans = {"alone, default": (default, 1), "alone": (ours, 1), "pair": (ours, 2)}
    if options.default_pair:
        plans["pair, default"] = (default, 2)
    turns = [
        {name: run_at_once(folder, variables, options, count) for name, (variables, count) in plans.items()}
        for _ in range(options.rounds)
    ]
    for name in plans:
        epochs, whole = (median(getattr(turn[name], part) for turn in turns) for part in ("epochs", "whole"))
        print(f"{name:20}{epochs:10.2f} s of epochs{whole:10.2f} s in all")
    pair = median(turn["pair"].epochs / (2 * turn["alone"].epochs) for turn in turns)
    alone = median(turn["alone"].epochs / turn["alone, default"].epochs for turn in turns)
    print(f"side by side over one after the other: {pair:.2f} (at most {PAIR_LIMIT})")
    print(f"alone, with the setting over without:  {alone:.3f} (at most {ALONE_LIMIT})\n", flush=True)
    return pair <= PAIR_LIMIT and alone <= ALONE_LIMIT


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--method", default="hier-cos")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each run")
    parser.add_argument("--default-pair", action="store_true")
    options = parser.parse_args()
    print(f"{options.threads} threads a run, {os.cpu_count()} cores, {options.rounds} rounds in turn\n")
    with TemporaryDirectory() as folder:
        write_data(Path(folder), options.rows)
        within = compare_settings(Path(folder), options)
    sys.exit(int(not within))


if __name__ == "__main__":
    main()
