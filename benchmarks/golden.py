"""Hashes of what runs leave, to compare two versions on one machine: python benchmarks/golden.py [NAME...]

Runs the command in a folder of its own and prints, for each run, the first half of the SHA-256 of the weights, the
temperature, the rule, the chains of back-off, the test scores and the answers, and of the figures of a comparison.
Another version runs with PYTHONPATH=THAT/src. Weights are hashed without their names, in order of the names.
"""

import argparse
import csv
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image
from safetensors.numpy import load_file

COMMAND = "import sys; from hiercos.cli import main; sys.exit(main())"
CALIBRATION = "calibration"  # begin of the names of tensors, in models that hold the chains among them
BESIDE = ("text.", "memory.")  # and of those of features and remembered samples, which some versions keep there
RUNS = {
    "committee": ("icd10cm:9", "--method", "default", "--effort", "quick"),
    "hier-cos": ("icd10cm:9", "--method", "hier-cos", "--epochs", "10"),
    "tree-logistic": ("vectors.npz", "--taxonomy", "tree.csv", "--method", "tree-logistic", "--rule", "crm"),
    "path-softmax": ("vectors.npz", "--taxonomy", "tree.csv", "--method", "path-softmax"),
    "images": ("photos", "--method", "cross-entropy"),
    "graph": ("vectors.npz", "--taxonomy", "graph.csv", "--method", "c-hmcnn"),
}
COMPARED = ("--taxonomy", "tree.csv", "--methods", "hier-cos,tree-logistic", "--seeds", "2", "--jobs", "2")


def hashed(value: Any) -> str:
    """Half of the SHA-256 of arrays, by their bytes, or of other values, as JSON."""
    digest = hashlib.sha256()
    for part in value if isinstance(value, list) else [value]:
        digest.update(part.tobytes() if isinstance(part, np.ndarray) else json.dumps(part, sort_keys=True).encode())
    return digest.hexdigest()[:32]


def write_inputs(folder: Path) -> None:
    """Vectors around a point of each of 12 classes, a tree and a graph over them, texts, and images of 3 shades."""
    generator, classes = np.random.default_rng(0), [f"class {number}" for number in range(12)]
    rows = np.arange(600) % 12
    vectors = generator.normal(size=(12, 16))[rows] + generator.normal(size=(600, 16))
    np.savez(folder / "vectors.npz", features=vectors.astype(np.float32), labels=np.array(classes)[rows])
    edges = [(f"group {number // 4}", name) for number, name in enumerate(classes)]
    for file, more in (("tree.csv", []), ("graph.csv", [("group 2", "class 0"), ("group 0", "class 7")])):
        with (folder / file).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([("parent", "child"), *edges, *more])
    (folder / "texts.csv").write_text("text\nangina pectoris\nacute heart failure\nvaricose veins of the leg\n")
    for number in range(90):
        path = folder / "photos" / ("pet/cat", "pet/dog", "vehicle/car")[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 128, (32, 32, 3)) + np.array([0, 60, 120])[number % 3]
        Image.fromarray(pixels.astype(np.uint8)).save(path)


def run(folder: Path, *arguments: str) -> None:
    """Run the command in a folder."""
    subprocess.run([sys.executable, "-c", COMMAND, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def hashes(folder: Path, model: str, data: str, *options: str) -> Iterator[tuple[str, str]]:
    """Train a model and answer its own inputs: name and hash of each part."""
    run(folder, "train", data, *options, "--out", model)
    path = folder / model
    weights = load_file(path / "model.safetensors")
    config = json.loads((path / "config.json").read_text())
    own = [weights[name] for name in sorted(weights) if not name.startswith((CALIBRATION, *BESIDE))]
    yield "weights", hashed(own)
    yield "temperature", hashed(config["temperature"])
    yield "rule", hashed(config["rule"])
    earlier = path / "calibration.json"
    tensors = [weights[name] for name in sorted(weights) if name.startswith(CALIBRATION)]
    yield "chains", hashed(json.loads(earlier.read_text()) if earlier.exists() else tensors)
    scores = np.load(next(file for file in (path / "test/scores.npz", path / "scores.npz") if file.exists()))
    yield "test scores", hashed([scores["scores"], scores["labels"]])
    inputs = "texts.csv" if data.startswith("icd10cm") else data
    yield "answers", answers(folder, model, inputs)
    if "tree.csv" in options:  # no graphs in ONNX files
        run(folder, "export", model, "--onnx", f"{model}.onnx")
        yield "ONNX answers", answers(folder, f"{model}.onnx", inputs)


def answers(folder: Path, model: str, inputs: str) -> str:
    """Hash of the answers of a model or ONNX file."""
    run(folder, "predict", model, inputs, "--output", "answers.csv", "--top", "3")
    return hashed(np.frombuffer((folder / "answers.csv").read_bytes(), np.uint8))


def main() -> None:
    """Print the hashes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"runs, all by default: {', '.join(RUNS)}, compare")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_inputs(folder)
        for name in asked.names or [*RUNS, "compare"]:
            if name in RUNS:
                for part, value in hashes(folder, name, *RUNS[name]):
                    print(f"{name:15}{part:15}{value}", flush=True)
            else:
                run(folder, "compare", "vectors.npz", *COMPARED, "--out", name)
                table = list(csv.DictReader((folder / name / "results.csv").open(encoding="utf-8")))
                figures = [{key: row[key] for key in ("method", "rule", "seed", "top1", "hops")} for row in table]
                print(f"{name:15}{'metrics':15}{hashed(figures)}", flush=True)


if __name__ == "__main__":
    main()
