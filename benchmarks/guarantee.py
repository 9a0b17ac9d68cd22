"""The guarantee of back-off end to end: python benchmarks/guarantee.py FEATURES.npz [--seeds 10] [--method gaussian]

For each seed the rows of the file are split anew at random, half for training, a quarter each for validation and test;
then `hiercos train` and `hiercos predict --target-containment` run as a user would run them, and the answers in the
CSV file are compared with the labels. Prints the share of answers that contain the truth beside the Beta law for the
number of calibration samples that the command names, and how many answers stop at each level.
"""

import argparse
import csv
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import stats

from hiercos.cli.app import run
from hiercos.data import load_dataset
from hiercos.model import load_model

PARTS = {"train": 0.5, "val": 0.25, "test": 0.25}


def command(*arguments: object) -> str:
    """Run `hiercos` with these arguments and return what it says on stderr."""
    with redirect_stderr(StringIO()) as said, redirect_stdout(StringIO()):
        code = run([str(argument) for argument in arguments])
    if code:
        raise SystemExit(f"hiercos {' '.join(map(str, arguments))}: {said.getvalue()}")
    return said.getvalue()


def random_split(count: int, seed: int) -> np.ndarray:
    """The part of each row, at random."""
    ends = np.cumsum([round(share * count) for share in PARTS.values()])[:-1]
    split = np.empty(count, dtype="<U5")
    for name, rows in zip(PARTS, np.split(np.random.default_rng(seed).permutation(count), ends), strict=True):
        split[rows] = name
    return split


def realised(
    source: Path, seed: int, options: argparse.Namespace, folder: Path
) -> tuple[np.ndarray, Counter[str], int]:
    """Whether each answer contains the truth, the levels of the answers, and the number of calibration samples."""
    data = load_dataset(source)
    features, split, taxonomy = np.asarray(data.inputs), random_split(len(data), seed), data.taxonomy
    paths = np.array([taxonomy.path_text(int(leaf)) for leaf in taxonomy.leaves])[data.labels]
    tree, model, answers = folder / "tree.json", folder / f"model-{seed}", folder / "answers.csv"
    taxonomy.write(tree)
    np.savez(folder / "all.npz", features=features, labels=paths, split=split)
    np.savez(folder / "new.npz", features=features[split == "test"])
    method = ("--method", options.method, "--rule", "none")
    command("train", folder / "all.npz", "--taxonomy", tree, *method, "--seed", seed, "--out", model)
    said = command("predict", model, folder / "new.npz", "--target-containment", options.target, "--output", answers)
    if ">=" not in said:
        raise SystemExit(f"no guarantee was printed: {said}")
    with answers.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = [[row[f"level_{level}"] for level in range(1, taxonomy.height + 1)] for row in rows]
    given = [[name for name in path if name] for path in names]
    true = [
        [taxonomy.names[node] for node in taxonomy.path(int(taxonomy.leaves[c]))] for c in data.labels[split == "test"]
    ]
    contained = np.array([path == own[: len(path)] for path, own in zip(given, true, strict=True)])
    calibration = load_model(model).calibration
    return contained, Counter(row["level"] for row in rows), 0 if calibration is None else len(calibration)


def main() -> None:
    """Print a line for each seed and their mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--method", default="gaussian", help="method of hiercos train")
    parser.add_argument("--target", type=float, default=0.95)
    options = parser.parse_args()
    shares = []
    for seed in range(options.seeds):
        with TemporaryDirectory() as folder:
            contained, levels, count = realised(options.features, seed, options, Path(folder))
        rank, size = int(np.ceil(round((count + 1) * options.target, 9))), len(contained)
        law = stats.betabinom(size, rank, count + 1 - rank)
        shares.append(contained.mean())
        low, high = law.ppf(0.025) / size, law.ppf(0.975) / size
        shown = ", ".join(f"{level}: {levels[level]}" for level in sorted(levels))
        print(
            f"seed {seed}: {count:,} calibration samples, {size:,} answers, containment {shares[-1]:.4f} "
            f"(95% of the law: {low:.4f} to {high:.4f}); answers by level {shown}",
            flush=True,
        )
    print(f"mean {np.mean(shares):.4f}, from {min(shares):.4f} to {max(shares):.4f}; target {options.target}")


if __name__ == "__main__":
    main()
