"""Labels at inner nodes, taxonomies that grow, and pruning to one level, measured; tables in Markdown.

    python benchmarks/labels.py coarse [DATA] [--shares 0.3,0.7] [--methods hier-cos,...] [--seeds 3] [--records FILE]
        [--per-class 20] [--below-label left-out]
    python benchmarks/labels.py grow [--chapters 9,10,11,13] [--methods committee,path-softmax,hier-cos] [--seeds 3]
    python benchmarks/labels.py levels [DATA] [--epochs 25]

Validation ends every training, as in `hiercos train`, unless `--epochs` is given. With `--records` each finished
run of coarse and grow is a line of that file, and a second call runs only what is missing in it. `--split val` reads
their figures from the validation rows. Figures are means and standard deviations over the seeds.

coarse: a share of the training labels is replaced by an ancestor, drawn from all above the class. The same methods
learn from all labels, from the coarsened ones, and from the rows that keep their class. Validation and test keep
their classes; the seeds also draw the rows. `--per-class` keeps some training rows of each class, and `--below-label`
is an option of hier-cos, see `HierCOSLoss`.
grow: a model of all chapters of ICD-10-CM but the last one is extended to it by `hiercos extend`, with and without a
memory of 20 samples of each label, against training on everything; accuracy on the test rows of old and new classes.
levels: `hiercos export --level` of a Hier-COS model: accuracy, bytes and time of each level, whole and pruned.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import torch

from hiercos.cli.app import run
from hiercos.data import Dataset, load_dataset
from hiercos.encoders import launched
from hiercos.methods import METHODS
from hiercos.model import Classifier, evaluate
from hiercos.paper import level_costs, level_model
from hiercos.taxonomy import IntArray, Taxonomy
from hiercos.training import Settings, features_of, fit
from hiercos.training.settings import batch_size_for

WIDTH = 256
Figures = TypeVar("Figures")  # of a run, as JSON values


def config_of(method: str, seed: int, samples: int, epochs: int | None, below_label: str | None) -> Settings:
    """Settings of the runs: quick committees, narrow heads, the recommended options, the length and the batches of
    `hiercos train`."""
    wanted = {"width": WIDTH, "dropout": 0.1, "effort": "quick"}
    known = METHODS.options(method)
    options = {name: value for name, value in wanted.items() if name in known} | dict(METHODS.row(method).recommended)
    if below_label is not None and method == "hier-cos":
        options["below_label"] = below_label
    config = Settings(method, options, seed=seed, batch_size=batch_size_for(samples, 256))
    return replace(config, epochs=epochs)


def coarsened(nodes: IntArray, chosen: IntArray, taxonomy: Taxonomy, seed: int) -> IntArray:
    """Nodes with those of the chosen rows replaced by a random ancestor; classes just under the root stay."""
    generator, found = np.random.default_rng(seed), nodes.copy()
    for row in chosen:
        if above := taxonomy.path(int(nodes[row]))[:-1]:
            found[row] = generator.choice(above)
    return found


def variants(dataset: Dataset, shares: Iterable[float], seed: int) -> dict[str, Dataset]:
    """The data with all labels, and for each share with that share coarsened or left out."""
    rows = np.random.default_rng(seed).permutation(dataset.rows("train"))
    found = {"all labels": dataset}
    for share in shares:
        chosen = rows[: round(share * len(rows))]
        nodes = coarsened(dataset.nodes, chosen, dataset.taxonomy, seed)
        left = np.setdiff1d(np.arange(len(dataset)), chosen[nodes[chosen] != dataset.nodes[chosen]])
        found[f"{share:.0%} coarsened"] = replace(dataset, nodes=nodes)
        found[f"{share:.0%} left out"] = dataset.take(left)
    return found


def with_fewer_rows(dataset: Dataset, per_class: int | None) -> Dataset:
    """The data with at most that many training rows of each class, drawn at random; all rows for None."""
    if per_class is None:
        return dataset
    drawn = np.random.default_rng(0).permutation(dataset.rows("train"))
    kept = [drawn[dataset.labels[drawn] == label][:per_class] for label in range(dataset.taxonomy.num_classes)]
    return dataset.take(np.sort(np.concatenate([*kept, dataset.rows("val"), dataset.rows("test")])))


def coarse(asked: argparse.Namespace) -> None:
    """Print the table of coarsened labels."""
    dataset, finished = with_fewer_rows(load_dataset(asked.data), asked.per_class), Records(asked.records)
    levels = [f"accuracy_level_{level}" for level in range(1, dataset.taxonomy.height)]
    columns = ["top1", "hops", *levels, "seconds"]
    print_row("method", "labels", *columns)
    print_row(*["---"] * 2, *["---:"] * len(columns))
    shares = [float(share) for share in asked.shares.split(",")]
    for method in asked.methods.split(","):
        drawn = [variants(dataset, shares, seed) for seed in range(asked.seeds)]
        for name in drawn[0]:
            runs = []
            for seed, data in enumerate(drawn):
                config = config_of(method, seed, len(dataset.rows("train")), asked.epochs, asked.below_label)
                run_of = partial(measured, data[name], config, asked.split)
                given = [value for value in (asked.per_class, asked.below_label) if value is not None]
                key = [asked.data, asked.split, asked.epochs, method, name, seed, *given]
                runs.append(finished.result(key, run_of))
            print_row(f"`{method}`", name, *(spread([run[column] for run in runs]) for column in columns))


class Records:
    """Finished runs, one JSON object a line; nothing is kept without a file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.found = {json.dumps(record["run"]): record["figures"] for record in map(json.loads, lines)}

    def result(self, run: list[str | int], measure: Callable[[], Figures]) -> Figures:
        """The figures of a run, measured if they are not there."""
        key = json.dumps(run)
        if key not in self.found:
            self.found[key] = measure()
            if self.path is not None:
                with self.path.open("a") as file:
                    print(json.dumps({"run": run, "figures": self.found[key]}), file=file)
        return self.found[key]


def measured(dataset: Dataset, config: Settings, split: str) -> dict[str, float]:
    """Figures of one run without a rule on the rows of a split; `seconds` is the CPU time of its training."""
    fabric, data = launched("cpu"), features_of(dataset).for_method(config)
    model, start = data.model(config), time.process_time()
    fit(fabric, model, data.training_samples(config), data.samples("val"), config)
    return {"seconds": time.process_time() - start, **evaluate(fabric, model, data.samples(split))}


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation."""
    digits = 1 if max(values) > 2 else 4
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def grow(asked: argparse.Namespace) -> None:
    """Print the table of the extended models."""
    chapters, finished = asked.chapters.split(","), Records(asked.records)
    everything, old = (load_dataset(f"icd10cm:{','.join(kept)}") for kept in (chapters, chapters[:-1]))
    print_row("method", "model", "old top-1 %", "new top-1 %", "all top-1 %", "seconds")
    print_row(*["---"] * 2, *["---:"] * 4)
    for method in asked.methods.split(","):
        runs = []
        for seed in range(asked.seeds):
            run_of = partial(grown, method, everything, old.taxonomy, seed, asked)
            runs.append(
                finished.result(["grow", asked.chapters, asked.split, asked.epochs, asked.memory, method, seed], run_of)
            )
        for name in runs[0]:
            columns = zip(*(run[name] for run in runs), strict=True)
            print_row(f"`{method}`", name, *(spread(column) for column in columns))


def grown(
    method: str, everything: Dataset, old: Taxonomy, seed: int, asked: argparse.Namespace
) -> dict[str, list[float]]:
    """Accuracy in percent on old, new and all rows of the split, and the CPU seconds of the command, of each model."""
    names = {old.path_text(int(leaf)) for leaf in old.leaves}
    texts = [everything.taxonomy.path_text(int(everything.taxonomy.leaves[label])) for label in everything.labels]
    is_old = np.array([text in names for text in texts])
    found = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_growth(folder, everything, old, texts, is_old)
        for number, (model, command) in enumerate(growth_commands(method, folder, seed, asked).items()):
            start, out = time.process_time(), folder / str(number)
            check(run([*command, "--out", str(out)]))
            seconds = time.process_time() - start
            found[model] = [*accuracies(out, everything, texts, is_old, asked.split), seconds]
    return found


def write_growth(folder: Path, everything: Dataset, old: Taxonomy, texts: Sequence[str], is_old: IntArray) -> None:
    """Write both trees, and tables of all samples, those of old classes and those of new ones."""
    everything.taxonomy.write(folder / "all-tree.json")
    old.write(folder / "old-tree.json")
    for name, rows in (("all", np.ones_like(is_old)), ("old", is_old), ("new", ~is_old)):
        write_table(folder / f"{name}.csv", everything, texts, np.flatnonzero(rows))


def growth_commands(method: str, folder: Path, seed: int, asked: argparse.Namespace) -> dict[str, list[str]]:
    """Command of each model without its `--out`; the first one's is to be the folder 0."""
    length = [] if asked.epochs is None else ["--epochs", str(asked.epochs)]
    own, words_of = METHODS.options(method), {"effort": ["--effort", "quick"], "width": ["--set", f"width={WIDTH}"]}
    chosen = [word for name, words in words_of.items() if name in own for word in words]
    settings = [*length, "--device", "cpu", "--seed", str(seed)]
    of_old, of_all = (["--taxonomy", str(folder / f"{name}-tree.json")] for name in ("old", "all"))
    train = ["--method", method, *chosen, *settings, "--memory", str(asked.memory)]
    extend = ["extend", str(folder / "0"), str(folder / "new.csv"), *of_all, *settings]
    commands = {
        "old classes alone": ["train", str(folder / "old.csv"), *of_old, *train],
        f"extended, memory of {asked.memory}": extend,
        "extended, no memory": [*extend, "--memory", "0"],
        "everything from scratch": ["train", str(folder / "all.csv"), *of_all, *train],
    }
    if METHODS.traits(method).solved:
        del commands["extended, no memory"]  # refused
    return commands


def check(code: int) -> None:
    """Raise a RuntimeError for a command that failed."""
    if code:
        raise RuntimeError(f"the command ended with exit code {code}")


def write_table(path: Path, dataset: Dataset, labels: Sequence[str], rows: IntArray) -> None:
    """Write texts with the paths of their labels and their splits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        texts = dataset.inputs.values(rows)
        writer.writerows(zip(texts, (labels[row] for row in rows), dataset.split[rows], strict=True))


def accuracies(
    folder: Path, dataset: Dataset, labels: Sequence[str], is_old: IntArray, split: str = "test"
) -> list[float]:
    """Accuracy in percent on the old, the new and all rows of a split; classes that a model lacks are wrong."""
    stored, rows = Classifier.load(folder), dataset.rows(split)
    classes = stored.posterior(dataset.inputs.take(rows)).classes.argmax(axis=1)
    taxonomy = stored.model.taxonomy
    answers = [taxonomy.path_text(int(taxonomy.leaves[label])) for label in classes]
    right = np.array([answer == labels[row] for answer, row in zip(answers, rows, strict=True)])
    return [100 * float(right[part].mean()) for part in (is_old[rows], ~is_old[rows], slice(None))]


def levels(asked: argparse.Namespace) -> None:
    """Print the table of the levels of a Hier-COS model."""
    dataset = load_dataset(asked.data)
    print_row("level", "model", "accuracy %", "bytes", "microseconds a sample")
    print_row(*["---"] * 2, *["---:"] * 3)
    with TemporaryDirectory() as folder:
        out = Path(folder, "model")
        length = [] if asked.epochs is None else ["--epochs", str(asked.epochs)]
        train = ["train", asked.data, "--method", "hier-cos", *length, "--device", "cpu"]
        check(run([*train, "--out", str(out)]))
        stored, rows = Classifier.load(out), dataset.rows("test")
        for level in range(1, dataset.taxonomy.height + 1):
            pruned = level_model(stored, level)
            costs = level_costs(stored, pruned, dataset.inputs.take(rows), dataset.labels[rows], level)
            for name, cost in costs.items():
                print_row(str(level), name, f"{100 * cost.accuracy:.2f}", f"{cost.size:,}", f"{cost.microseconds:.1f}")


def main() -> None:
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(experiment: Callable[[argparse.Namespace], None], methods: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(experiment.__name__, help=experiment.__doc__)
        added.set_defaults(experiment=experiment)
        added.add_argument("--epochs", type=int, help="exact number; by default validation ends the training")
        if methods:
            added.add_argument("--methods", default=methods)
            added.add_argument("--seeds", type=int, default=3)
            added.add_argument("--split", choices=("val", "test"), default="test")
            added.add_argument("--records", type=Path)
        return added

    coarse_options = command(coarse, "cross-entropy,hier-cos,committee")
    coarse_options.add_argument("data", nargs="?", default="icd10cm:9,10,11,13")
    coarse_options.add_argument("--shares", default="0.3,0.7")
    coarse_options.add_argument("--per-class", type=int, help="training rows of each class; all by default")
    coarse_options.add_argument("--below-label", choices=("left-out", "merged"), help="option of hier-cos")
    grow_options = command(grow, "cross-entropy,hier-cos,path-softmax,committee")
    grow_options.add_argument("--chapters", default="9,10,11,13")
    grow_options.add_argument("--memory", type=int, default=20, help="remembered samples of each label")
    command(levels).add_argument("data", nargs="?", default="icd10cm:9,10,11,13")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.experiment(asked)


if __name__ == "__main__":
    main()
