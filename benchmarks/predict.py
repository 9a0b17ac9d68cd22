"""What `hiercos predict` costs beside its network: python benchmarks/predict.py

A model of 256 features and 221 classes (4 > 51 > 221 nodes, as four chapters of ICD-10-CM have), trained for one
epoch, answers 100,000 vectors under the default rule, into a CSV file. Prints, as medians over rounds in turn,
  (a) rows a second of the whole command, and of the command less the same command on one row, which is its start;
  (b) rows a second of a bare torch loop over the same network and batches (no gradients, argmax), and the ratios to it;
  (c) the peak memory of the command at 100,000 rows and, with --million, at 1,000,000.
  (d) instead, with --model MODEL --texts FILE, a CSV of texts: rows a second of the command less its start, over those
      of its features and scores alone.
With --effort quick the model has linear heads alone, so that (c) takes minutes on a slow machine.
"""

import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch

from hiercos.model import Classifier
from trees import CHAPTER_LEVELS, layered_tree

FEATURES, BATCH, ROWS, MANY_ROWS = 256, 1024, 100_000, 1_000_000
CHILD = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def write_features(file: Path, rows: int) -> None:
    """Random vectors."""
    np.savez(file, features=np.random.default_rng(0).normal(size=(rows, FEATURES)).astype(np.float32))


def train_model(folder: Path, effort: str) -> Path:
    """One epoch of the default method, with its default rule."""
    taxonomy, rows = layered_tree(CHAPTER_LEVELS), 20 * CHAPTER_LEVELS[-1]
    labels, model = np.arange(rows) % taxonomy.num_classes, folder / "model"
    taxonomy.write(folder / "tree.json")
    centres = np.random.default_rng(1).normal(size=(taxonomy.num_classes, FEATURES))
    features = centres[labels] + np.random.default_rng(2).normal(size=(rows, FEATURES))
    np.savez(folder / "data.npz", features=features.astype(np.float32), labels=labels)
    data = [str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json")]
    run_command(["train", *data, "--out", str(model), "--epochs", "1", "--effort", effort, "--device", "cpu"])
    return model


def run_command(arguments: list[str]) -> tuple[float, float]:
    """Seconds of the command in a process of its own, and its peak memory in MB."""
    start = perf_counter()
    command = [sys.executable, "-c", CHILD, sys.executable, "-m", "hiercos", *arguments]
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return perf_counter() - start, int(ran.stderr.split()[-1]) / 1024


def predict(model: Path, features: Path) -> tuple[float, float]:
    """Seconds and peak memory of one prediction into a CSV file."""
    output = ["--output", str(features.with_suffix(".csv"))]
    place = ["--device", "cpu", "--batch-size", str(BATCH)]
    return run_command(["predict", str(model), str(features), *place, *output])


@torch.no_grad()
def bare_seconds(model: Path, features: Path) -> float:
    """Seconds of the network and an argmax on the same batches."""
    network = Classifier.load(model).model.eval()
    inputs = torch.from_numpy(np.load(features)["features"])
    start = perf_counter()
    for batch in inputs.split(BATCH):
        network.class_scores(network(batch)).argmax(dim=1)
    return perf_counter() - start


def print_speed(model: Path, one: Path, many: Path, rounds: int) -> None:
    """Parts (a) and (b)."""
    turns = [(predict(model, many)[0], predict(model, one)[0], bare_seconds(model, many)) for _ in range(rounds)]
    whole, start, bare = (median(column) for column in zip(*turns, strict=True))
    answering = median(turn[0] - turn[1] for turn in turns)
    print(f"{'the whole command':26}{ROWS / whole:12,.0f} rows a second, {bare / whole:.3f} of the bare loop")
    print(f"{'without its start':26}{ROWS / answering:12,.0f} rows a second, {bare / answering:.3f} of the bare loop")
    print(f"{'bare torch loop':26}{ROWS / bare:12,.0f} rows a second")
    print(f"start of the command (one row): {start:.2f} s\n")


def print_texts(model: Path, table: Path, rounds: int) -> None:
    """Part (d)."""
    with table.open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    classifier, turns = Classifier.load(model), []
    with TemporaryDirectory() as folder:
        one = Path(folder, "one.csv")
        with one.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["text"], [texts[0]]])
        output = ["--output", str(Path(folder, "answers.csv"))]
        for _ in range(rounds):
            whole, start = (run_command(["predict", str(model), str(own), *output])[0] for own in (table, one))
            before = perf_counter()
            rows = sum(map(len, classifier.posteriors(texts)))  # the softmax is computed on first use
            turns.append((whole - start, perf_counter() - before))
    answering, bare = (median(column) for column in zip(*turns, strict=True))
    print(f"{'features and scores':26}{rows / bare:12,.0f} rows a second")
    print(f"{'without its start':26}{rows / answering:12,.0f} rows a second, {bare / answering:.3f} of these")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--effort", choices=("quick", "normal", "best"), default="normal", help="of the model's training"
    )
    parser.add_argument("--million", action="store_true", help="peak memory at 1,000,000 rows, too")
    parser.add_argument("--model", type=Path, help="only (d), of this model of texts")
    parser.add_argument("--texts", type=Path, help="CSV with a column text for (d)")
    options = parser.parse_args()
    if options.model and options.texts:
        print_texts(options.model, options.texts, options.rounds)
        return
    threads, cores = torch.get_num_threads(), os.cpu_count()
    print(f"torch {torch.__version__}, {threads} threads, {cores} cores, batches of {BATCH}, {options.effort} effort\n")
    with TemporaryDirectory() as made:
        folder = Path(made)
        model = train_model(folder, options.effort)
        one, many = folder / "one.npz", folder / "many.npz"
        write_features(one, 1)
        write_features(many, ROWS)
        print_speed(model, one, many, options.rounds)
        print(f"peak memory at {1:12,} row:  {predict(model, one)[1]:8,.0f} MB")
        print(f"peak memory at {ROWS:12,} rows: {predict(model, many)[1]:8,.0f} MB")
        if options.million:
            write_features(many, MANY_ROWS)
            print(f"peak memory at {MANY_ROWS:12,} rows: {predict(model, many)[1]:8,.0f} MB")


if __name__ == "__main__":
    main()
