"""Siblings beside omikuji and napkinXC: python benchmarks/many_classes.py FOLDER [DATA] [--peers PYTHON]

DATA is `geonames` by default. Features (n-grams of the encoder, learned from training rows) are written to FOLDER once.
Each row is a process of its own: processor seconds of training on these features and of answers to the test rows,
largest memory, size of the model, top-1 and accuracy on the first level. Siblings choose their strength on validation;
peers have their default settings (`--options` changes them), one thread, and PYTHON is an interpreter that has them.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

ROWS = ("siblings", "omikuji", "hsm", "plt")
BITS = 1e6


def main() -> None:
    """Print a Markdown table, or the figures of one row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("data", nargs="?", default="geonames")
    parser.add_argument("--peers", default=sys.executable, help="interpreter with omikuji and napkinxc")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--options", default="{}", help="JSON of options of the peers")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        print(json.dumps(measured(asked.only, asked.folder, json.loads(asked.options))))
        return
    if not (asked.folder / "paths.npy").exists():
        write_features(asked.folder, asked.data)
    print("| | top-1 % | first level % | training CPU s | test rows a CPU s | peak MB | model MB |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for name in asked.rows.split(","):
        python = sys.executable if name == "siblings" else asked.peers
        command = [python, __file__, str(asked.folder), "--only", name, "--options", asked.options]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print("| " + " | ".join([name, *found]) + " |", flush=True)


def write_features(folder: Path, data: str) -> None:
    """Features and classes of each split, and the paths of the classes."""
    from hiercos.data import completed, load_dataset
    from hiercos.encoders import TextFeatures

    dataset = completed(load_dataset(data))
    folder.mkdir(parents=True, exist_ok=True)
    features = TextFeatures.fit(dataset.inputs.values(dataset.rows("train")))
    for split in ("train", "val", "test"):
        rows = dataset.rows(split)
        save_npz(folder / f"{split}.npz", features.transform(dataset.inputs.values(rows)), compressed=False)
        np.save(folder / f"{split}.npy", dataset.labels[rows])
    dataset.taxonomy.write(folder / "tree.json")
    np.save(folder / "paths.npy", dataset.taxonomy.path_table(dataset.taxonomy.leaves))


def measured(name: str, folder: Path, options: dict[str, Any]) -> list[str]:
    """Figures of a row of the table."""
    rows = {split: (load_npz(folder / f"{split}.npz"), np.load(folder / f"{split}.npy")) for split in ("train", "test")}
    start = process_time()
    predict, size = {"siblings": of_siblings, "omikuji": of_omikuji}.get(name, of_napkin)(name, folder, rows, options)
    trained, start = process_time() - start, process_time()
    features, labels = rows["test"]
    answers = predict(features)
    rate = len(labels) / (process_time() - start)
    first = np.load(folder / "paths.npy")[:, 0]
    top1, level = (answers == labels).mean(), (first[answers] == first[labels]).mean()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = (100 * top1, 100 * level)
    return [*(f"{each:.2f}" for each in figures), *(f"{each:,.0f}" for each in (trained, rate, peak, size / BITS))]


def of_siblings(name: str, folder: Path, rows: Any, options: dict[str, Any]) -> Any:
    """Our member: its strength is chosen on validation, then it learns from training rows."""
    from hiercos import Taxonomy
    from hiercos.methods import LabelledFeatures, Model

    taxonomy, val = Taxonomy.read(folder / "tree.json"), (load_npz(folder / "val.npz"), np.load(folder / "val.npy"))
    model = Model(taxonomy, rows["train"][0].shape[1], name, options)
    train, held_out = (LabelledFeatures(csr_matrix(each), labels) for each, labels in (rows["train"], val))
    model.solve(train, held_out, seed=0)
    size = sum(each.numel() * each.element_size() for each in model.head.buffers())
    return lambda features: model.search(csr_matrix(features)).best_classes(1)[0][:, 0], size


def of_omikuji(name: str, folder: Path, rows: Any, options: dict[str, Any]) -> Any:
    """Three trees of its own."""
    import omikuji

    features, labels = rows["train"]
    file, model_folder = folder / "train.txt", folder / name
    write_svmlight(file, features, labels)
    hyper = omikuji.Model.default_hyper_param()
    for key, value in options.items():
        setattr(hyper, key, value)
    model = omikuji.Model.train_on_data(str(file), hyper, n_threads=1)
    model.save(str(model_folder))
    size = sum(each.stat().st_size for each in model_folder.rglob("*") if each.is_file())

    def predict(asked: Any) -> Any:
        pairs = (zip(asked.indices[a:b].tolist(), asked.data[a:b].tolist(), strict=True) for a, b in bounds(asked))
        found = (model.predict(list(pair), top_k=1) for pair in pairs)
        return np.array([each[0][0] if each else 0 for each in found])

    return predict, size


def of_napkin(name: str, folder: Path, rows: Any, options: dict[str, Any]) -> Any:
    """Hierarchical softmax, or a probabilistic label tree, on the user's tree."""
    from napkinxc.models import HSM, PLT

    features, labels = rows["train"]
    paths, model_folder = np.load(folder / "paths.npy"), folder / name
    depth = (paths >= 0).sum(axis=1)
    parents = {
        int(path[level]) + 1: (int(path[level - 1]) + 1 if level else 0)
        for path, end in zip(paths, depth, strict=True)
        for level in range(end)
    }
    class_of = {int(path[end - 1]) + 1: label for label, (path, end) in enumerate(zip(paths, depth, strict=True))}
    tree = [(-1, 0, -1), *((parent, node, class_of.get(node, -1)) for node, parent in sorted(parents.items()))]
    kind = HSM if name == "hsm" else PLT
    model = kind(str(model_folder), tree_structure=tree, threads=1, **options)
    model.fit(features, [[int(label)] for label in labels] if name == "plt" else labels.tolist())
    size = sum(each.stat().st_size for each in model_folder.rglob("*") if each.is_file())
    return lambda asked: np.array([each[0] if each else 0 for each in model.predict(asked, top_k=1)]), size


def bounds(features: Any) -> Any:
    """First and last entry of each row."""
    return zip(features.indptr[:-1], features.indptr[1:], strict=True)


def write_svmlight(file: Path, features: Any, labels: Any) -> None:
    """Rows in the format of the extreme classification repository."""
    with file.open("w", encoding="ascii") as out:
        out.write(f"{features.shape[0]} {features.shape[1]} {labels.max() + 1}\n")
        for label, (first, end) in zip(labels.tolist(), bounds(features), strict=True):
            entries = zip(features.indices[first:end].tolist(), features.data[first:end].tolist(), strict=True)
            out.write(f"{label} " + " ".join(f"{column}:{value:.5g}" for column, value in entries) + "\n")


if __name__ == "__main__":
    main()
