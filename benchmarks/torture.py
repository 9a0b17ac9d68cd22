"""End commands at every file operation, run them again, and compare what is left with an undisturbed run.

The process is forked after all imports. The child ends (`os._exit`, nothing is flushed) just before its n-th file
operation: opening for writing, renaming, removing, making a folder, forcing to disk. Another child then runs the same
command to its end. Each output must be the one of an undisturbed run, byte for byte except for times, or, before the
second child, the one that was there before; nothing temporary may be left.

    python benchmarks/torture.py            # every operation of every command (`make torture`)
    python benchmarks/torture.py --most 5   # about five operations of each command, evenly spread
    python benchmarks/torture.py --totals totals.json   # a run that was stopped continues, and adds to its counts
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from lightning_fabric import Fabric

from blobs import blob_data, cloud
from colours import colour_data, small_backbone
from ends import ENDED, end_at
from hiercos import Taxonomy
from hiercos.cli.app import run
from hiercos.encoders import ReadConfig, TextFeatures
from hiercos.encoders.embedding import embed_dataset
from hiercos.encoders.feature_file import write_features
from hiercos.methods import Model
from hiercos.model import Classifier
from hiercos.records import RECORD_FILE, records_json
from hiercos.storage import DIGEST, FILES, StorageError, opened, write
from hiercos.training import Settings, checkpoint, train
from records import record
from trees import TOY17

CHANGING = ("seconds", "train_seconds", "source")  # keys of a record that differ between equal runs: times, the folder
CHECKSUMS = (FILES, DIGEST)  # keys of a configuration that depend on files with times
UNCOMPARED = {"log.csv", "report.html"}  # they hold times

Action = Callable[[Path], int]


def forked(action: Action, folder: Path, last: int | None, log: Path) -> int:
    """Exit code of an action in a child process that ends before its operation number `last`, from 1."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    try:
        counter = [0] if last is None else end_at(folder, last)
        code = action(folder)
        sys.stdout.flush()
        log.with_name("operations").write_text(str(counter[0]))
    except BaseException as error:  # reported by the parent
        os.write(2, f"{type(error).__name__}: {error}".encode())
        code = 99
    os._exit(code)


def snapshot(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below a folder, without what depends on the time."""
    found = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.name in UNCOMPARED or file.name.startswith("results."):
            continue
        content = file.read_bytes()
        if file.name in {"record.json", "config.json"}:
            content = json.dumps(without_times(json.loads(content)), sort_keys=True).encode()
        found[str(file.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


def without_times(value: Any) -> Any:
    """A JSON value without the keys that differ between equal runs."""
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in CHANGING + CHECKSUMS}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def leftovers(folder: Path) -> list[str]:
    """Temporary files, locks and checkpoints below a folder."""
    names = [str(path.relative_to(folder)) for path in folder.rglob("*")]
    return [
        name
        for name in names
        if re.search(r"(\.lock|checkpoint[^/]*|\.shared-\w+|\.hiercos-[^/]*)$", name)
        and not name.startswith(("cache/", ".hiercos-"))  # what stays: locks of the cache, half an output
    ]


def invalid_folders(folder: Path) -> list[str]:
    """Folders whose configuration does not fit their files."""
    faults = []
    for file in folder.rglob("config.json"):
        try:
            opened(file.parent).check()
        except StorageError as error:
            faults.append(str(error))
    return faults


class Case:
    """A command to end: what it does, what was there before, and what must hold after an end."""

    def __init__(self, name: str, action: Action, prepare: Callable[[Path], None] = lambda _: None) -> None:
        self.name, self.action, self.prepare = name, action, prepare

    def intact(self, folder: Path, before: dict[str, str], after: dict[str, str]) -> list[str]:
        """Faults of a folder after an end: each output must be the old one or the new one."""
        now = snapshot(folder)
        mixed = [name for name in before if name in after and now.get(name) not in (before[name], after[name])]
        return [f"{name} is neither the old nor the new file" for name in mixed] + invalid_folders(folder)


class Totals:
    """Ends of each command and their faults, kept in a file if there is one, so that a stopped run continues."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        stored = json.loads(file.read_text()) if file and file.is_file() else {}
        self.commands: dict[str, dict[str, Any]] = stored

    def of(self, name: str) -> dict[str, Any]:
        """Counts of a command: operations that were tried, ends, and faults."""
        return self.commands.setdefault(name, {"tried": [], "ends": 0, "faults": []})

    def add(self, name: str, operation: int, ended: bool, faults: list[str]) -> None:
        """Count one end."""
        own = self.of(name)
        own["tried"].append(operation)
        own["ends"] += ended
        own["faults"] += faults
        if self.file:
            write(self.file, json.dumps(self.commands, indent=1) + "\n")


def tortured(case: Case, most: int | None, totals: Totals) -> None:
    """End a command before each of its operations (or `most` of them) and count what went wrong."""
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # memory outlives a process that ends
    with tempfile.TemporaryDirectory(prefix="torture-", dir=in_memory) as name:
        place = Path(name).resolve()
        start, whole, log = place / "start", place / "whole", place / "log"
        start.mkdir()
        case.prepare(start)
        shutil.copytree(start, whole)
        shutil.copytree(start, place / "warm")
        with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
            case.action(place / "warm")  # imports what the children need
        code = forked(case.action, whole, None, log)
        assert code == 0, f"{case.name}: {code}: {log.read_text()}"
        before, after = snapshot(start), snapshot(whole)
        if wrong := leftovers(whole):
            totals.of(case.name)["faults"].append(f"{case.name}, undisturbed: left {wrong}")
        for last in chosen_operations(case, start, log, place, most):
            if last in totals.of(case.name)["tried"]:
                continue
            folder = place / "folder"
            shutil.copytree(start, folder)
            ended = forked(case.action, folder, last, log) == ENDED
            found = case.intact(folder, before, after)
            code = forked(case.action, folder, None, log)
            found += [f"exit {code}: {log.read_text()[-300:]}"] if code else []
            found += leftovers(folder)
            found += [file for file in after if snapshot(folder).get(file) != after[file]]
            totals.add(case.name, last, ended, [f"{case.name}, operation {last}: {fault}" for fault in found])
            shutil.rmtree(folder)


def chosen_operations(case: Case, start: Path, log: Path, place: Path, most: int | None) -> Iterator[int]:
    """Numbers of the operations to end a command at: all, or about `most`, evenly spread."""
    shutil.copytree(start, place / "probe")
    code = forked(case.action, place / "probe", 0, log)
    assert code == 0, f"{case.name}: {code}: {log.read_text()}"
    shutil.rmtree(place / "probe")
    total = int((place / "operations").read_text())
    count = total if most is None else min(total, most)
    yield from sorted({round(1 + index * (total - 1) / max(1, count - 1)) for index in range(count)})


def write_data(folder: Path) -> None:
    """Labelled vectors, their tree, and a table of texts."""
    TOY17.write(folder / "tree.json")
    features, labels = cloud(TOY17, 120)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())
    rows = [
        f"{TOY17.class_names[number % 17]} thing {number},{TOY17.class_names[number % 17]}" for number in range(120)
    ]
    (folder / "texts.csv").write_text("text,label\n" + "\n".join(rows) + "\n")


def command(*arguments: str) -> Action:
    """A command of hiercos in a folder; {} in an argument is the folder."""
    return lambda folder: run([argument.replace("{}", str(folder)) for argument in arguments])


def cases() -> list[Case]:
    """All commands with their data."""
    data = ["{}/data.npz", "--taxonomy", "{}/tree.json", "--device", "cpu"]
    texts = ["{}/texts.csv", "--taxonomy", "{}/tree.json", "--device", "cpu", "--set", "dim=8"]
    linear = ["--method", "cross-entropy", "--epochs", "3"]
    grown = ["{}/data.npz", "--taxonomy", "{}/grown.json", "--device", "cpu", "--epochs", "2"]

    def trained(folder: Path) -> None:
        write_data(folder)
        assert forked(command("train", *data, *linear, "--out", "{}/model"), folder, None, folder / "log") == 0
        (folder / "log").unlink()
        (folder / "out.csv").write_text("old\n")

    def extendable(folder: Path) -> None:
        trained(folder)
        paths = [tuple(TOY17.names[node] for node in TOY17.path(leaf)) for leaf in TOY17.leaves]
        Taxonomy.from_paths([*paths, ("new", "first"), ("new", "second")]).write(folder / "grown.json")

    def tree(folder: Path) -> None:
        write_data(folder)
        (folder / "new.csv").write_text("old\n")

    def embedded(folder: Path) -> int:
        os.environ["HIERCOS_CACHE"] = str(folder / "cache")
        fabric = Fabric(accelerator="cpu", devices=1)
        dataset, backbone = colour_data(60), small_backbone()
        found = embed_dataset(ReadConfig(fabric, batch_size=8), backbone, dataset)
        write_features(folder / "features.npz", found.path, dataset, backbone.identity())
        return 0

    methods = ["--methods", "cross-entropy,cross-entropy-mlp,hier-cos", "--seeds", "2", "--epochs", "2"]
    return [
        Case("convert", command("taxonomy", "convert", "{}/tree.json", "{}/new.csv"), tree),
        Case("predict", command("predict", "{}/model", "{}/data.npz", "--output", "{}/out.csv"), trained),
        Case("report", command("report", "{}/model", "--figures", "--output", "{}/report.html"), trained),
        Case("embed", embedded),
        Case("export", exported, lambda folder: other_export().write(folder / "model.onnx") and None),
        *(Case(f"run, {epochs} epochs", training_run(epochs)) for epochs in (1, 2, 3, 4, 6, 8)),
        Case("run, solved", training_run(1, "gaussian")),
        Case("model replaced", model_saved(1), lambda folder: model_saved(0)(folder) and None),
        Case("record replaced", record_written, lambda folder: model_saved(0)(folder) and None),
        Case("extend", command("extend", "{}/model", *grown, "--out", "{}/out", "--resume"), extendable),
        Case("train, vectors", command("train", *data, *linear, "--out", "{}/out", "--resume"), write_data),
        Case("train, texts", command("train", *texts, *linear, "--out", "{}/out", "--resume"), write_data),
        Case("compare", command("compare", *data, *methods, "--out", "{}/out"), write_data),
        Case("compare, tuned", command("compare", *data, *methods, "--tune", "2", "--out", "{}/out"), write_data),
    ]


def training_run(epochs: int, method: str = "cross-entropy") -> Action:
    """A run of `train` itself, without the command."""

    def trained(folder: Path) -> int:
        train(blob_data(), Settings(method=method, epochs=epochs, batch_size=32), folder=folder / "run", resume=True)
        return 0

    return trained


def model_saved(seed: int) -> Action:
    """A model folder with a record, written over another."""

    def save(folder: Path) -> int:
        torch.manual_seed(seed)
        model = Classifier(Model(TOY17, 6, "cross-entropy").eval(), None, temperature=1.0 + seed)
        model.save(folder / "model", {RECORD_FILE: records_json([record(seed=seed)])})
        return 0

    return save


def record_written(folder: Path) -> int:
    """A record of a committed folder, replaced by another."""
    record(seed=5).write(folder / "model")
    return 0


def exported(folder: Path) -> int:
    """Write an export that is made once."""
    from onnx_exports import of_texts

    of_texts().export.write(folder / "model.onnx")
    return 0


def other_export() -> Any:
    """An export with other text features."""
    from hiercos.onnx.format import TextMap
    from onnx_exports import TEXTS, of_texts

    export = of_texts().export
    return replace(export, description=replace(export.description, text_map=TextMap(TextFeatures.fit(TEXTS[:3]))))


def main() -> None:
    """Print a row for each command, and the faults; exit code 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, help="operations of each command to end at; all by default")
    parser.add_argument("--only", help="commands to run, by the beginning of their name, separated by commas")
    parser.add_argument("--totals", type=Path, help="JSON file of the counts; a run that was stopped continues")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    checkpoint.SECONDS = 0.0  # after every epoch
    totals = Totals(options.totals)
    for case in cases():
        if options.only and not case.name.startswith(tuple(options.only.split(","))):
            continue
        began = time.perf_counter()
        tortured(case, options.most, totals)
        found, seconds = totals.of(case.name), time.perf_counter() - began
        print(f"{case.name:20} {found['ends']:5} ends {len(found['faults']):3} faults {seconds:7.1f} s", flush=True)
    wrong = [fault for found in totals.commands.values() for fault in found["faults"]]
    ends = sum(found["ends"] for found in totals.commands.values())
    print("\n".join([f"{ends} ends, {len(wrong)} faults", *wrong]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
