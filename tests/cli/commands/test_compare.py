"""`hiercos compare` with several runs at once, and with a search."""

import csv
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from blobs import cloud, written_cloud
from hiercos.cli.app import run
from hiercos.cli.commands import compare as compare_module
from hiercos.cli.commands.compare import VariantOptions, flat_baseline
from hiercos.data import Dataset, Inputs, Texts, Vectors
from hiercos.model import Classifier
from hiercos.records import Record
from hiercos.storage import opened
from hiercos.taxonomy import Taxonomy, nodes_of_labels
from trees import TOY17

METHODS = ["cross-entropy", "hier-cos"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A data set as arguments."""
    return written_cloud(tmp_path_factory.mktemp("data"), TOY17, 680)


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def arguments(
    data: list[str], out: Path, methods: str = ",".join(METHODS), *, epochs: int = 4, seeds: int = 2
) -> list[str]:
    size = ["--epochs", str(epochs), "--batch-size", "8", "--device", "cpu", "--seeds", str(seeds)]
    size += ["--set", "width=32"] if "hier-cos" in methods else []
    return ["compare", *data, "--out", str(out), "--methods", methods, "--rules", "none,crm", *size]


STARTED_AT_A_TERMINAL = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what runs in its background ignore it
from hiercos.cli import main
main()"""


@contextmanager
def started(data: list[str], out: Path) -> "Iterator[subprocess.Popen[str]]":
    """The comparison in two processes, under a parent of its own, some epochs after its start."""
    command = [sys.executable, "-c", STARTED_AT_A_TERMINAL, *arguments(data, out), "--jobs", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        while process.poll() is None and not any(out.rglob("checkpoint")):
            time.sleep(0.01)
        assert process.returncode is None
        yield process


def children(process: "subprocess.Popen[str]") -> set[int]:
    return {int(child) for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()}


def end_soon(processes: set[int]) -> bool:
    """Whether all of these processes end within some time."""
    for _ in range(600):
        if not any(Path(f"/proc/{process}").exists() for process in processes):
            return True
        time.sleep(0.1)
    return False


def weights(out: Path) -> dict[Path, bytes]:
    return {file.relative_to(out): file.read_bytes() for file in out.rglob("model.safetensors")}


def results_but_times(folder: Path) -> list[dict[str, str]]:
    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [row["epochs"] for row in rows] == ["4"] * len(rows)
    return [{name: text for name, text in row.items() if name != "train_seconds"} for row in rows]


def resumes_to_the_same_results(data: list[str], stopped: Path, whole: Path) -> None:
    assert run(arguments(data, stopped)) == run(arguments(data, whole)) == 0
    assert weights(stopped) == weights(whole)
    assert len(weights(whole)) == 4
    assert results_but_times(stopped) == results_but_times(whole)
    assert not list(stopped.rglob("checkpoint"))


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_ctrl_c_ends_all_processes_and_the_same_command_goes_on(
    data: list[str], tmp_path: Path, one_thread: None
) -> None:
    stopped = tmp_path / "stopped"
    with started(data, stopped) as process:
        workers = children(process)
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        said = process.communicate()[1]
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("error: Interrupted. Finished work is kept")
    assert "Traceback" not in said
    assert len(workers) >= 2
    assert end_soon(workers)
    assert [path.name for path in stopped.iterdir()] == ["runs"]
    assert not list(stopped.rglob("*.tmp"))
    resumes_to_the_same_results(data, stopped, tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_processes_end_when_the_one_that_started_them_is_killed(
    data: list[str], tmp_path: Path, one_thread: None
) -> None:
    stopped = tmp_path / "stopped"
    with started(data, stopped) as process:
        workers = children(process)
        process.kill()
    assert len(workers) >= 2
    assert end_soon(workers)
    assert [path.name for path in stopped.iterdir()] == ["runs"]
    resumes_to_the_same_results(data, stopped, tmp_path / "whole")


def test_a_search_is_told_and_recorded(data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*arguments(data, tmp_path, epochs=1, seeds=1), "--batch-size", "64"]
    assert run([*command, "--tune", "2"]) == 0
    said = capsys.readouterr().err
    assert "hier-cos trial 1  epoch 1/1" in said
    assert "cross-entropy: of 2 trials, number " in said
    tuning = Record.read(tmp_path / "runs" / "hier-cos" / "seed-0", "crm").tuning
    assert tuning is not None
    assert (tuning["budget"], tuning["criterion"], len(tuning["trials"])) == (2, "top1", 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--jobs", "0"], "--jobs"),
        (["--tune", "-1"], "--tune"),
    ],
)
def test_an_impossible_number_is_one_sentence(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert run([*arguments(data, tmp_path / "out"), *options]) == 2
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_learning_curves_are_written_for_every_number_of_shots(data: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = arguments(data, out, epochs=1)
    assert run([*command, "--shots", "all,1", "--seeds", "2"]) == 0
    with (out / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["shots"] for row in rows] == ["1"] * 8 + ["all"] * 8
    assert (out / "shots" / "1" / "hier-cos" / "seed-1" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--shots", "0"], "--shots 0: expected numbers of at least 1, or all, got '0'"),
        (["--shots", "1,x"], "--shots 1,x: expected numbers of at least 1, or all, got 'x'"),
        (["--shots", "1", "--tune", "2"], "--shots cannot be combined with --tune or --ship"),
    ],
)
def test_shots_that_cannot_be_drawn_are_refused(
    data: list[str], tmp_path: Path, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments(data, tmp_path / "out"), *given]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("methods", [",".join(METHODS), "tree-logistic"])
def test_the_recommended_model_is_shipped_with_its_rule_and_the_printed_command_trains_it(
    methods: str, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, ship = tmp_path / "out", tmp_path / "shipped"
    command = [*arguments(data, out, methods, epochs=2, seeds=1), "--ship", str(ship)]
    assert run(command) == 0
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if line.startswith("Ship ")]
    chosen, _, rule = line.removeprefix("Ship ").partition(", the model of seed 0:")[0].partition(" + ")
    stored = Classifier.load(ship)
    assert (stored.model.method, stored.rule.name) == (chosen, rule or "none")
    assert Record.read(ship) == Record.read(out / "runs" / chosen / "seed-0")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    (text,) = [line for line in shown.splitlines() if line.startswith("To train it: hiercos ")]
    words = shlex.split(text.removeprefix("To train it: hiercos "))
    assert run([*words[:-1], str(tmp_path / "trained")]) == 0
    assert (tmp_path / "trained" / "model.safetensors").read_bytes() == (ship / "model.safetensors").read_bytes()
    assert opened(tmp_path / "trained").config == opened(ship).config


def test_test_rows_without_a_class_are_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TOY17.write(tmp_path / "tree.json")
    features, labels = (values.numpy() for values in cloud(TOY17, 340))
    split = np.array(["train", "train", "train", "val", "test"])[np.arange(340) // 17 % 5]
    split[(split == "test") & (TOY17.depths[TOY17.leaves[labels]] == 1)] = "val"  # classes without a parent
    tests = split == "test"
    labels[tests] = TOY17.num_classes + np.array([TOY17.path(TOY17.leaves[each])[0] for each in labels[tests]])
    np.savez(tmp_path / "data.npz", features=features, labels=labels, split=split)
    given = [str(tmp_path / "data.npz"), "--taxonomy", str(tmp_path / "tree.json")]
    assert run(arguments(given, tmp_path / "out")) == 2
    assert "no test row is labelled with a class, so answers cannot be compared" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_many_ranked_classes_are_announced_on_stderr(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = arguments(data, tmp_path / "out", epochs=1, seeds=1)
    said = "Comparing the variants row by row, by HOPS and log loss too: with this many classes it takes a while."
    assert run(command) == 0
    assert said not in capsys.readouterr().err
    monkeypatch.setattr("hiercos.cli.options.comparison.SLOW_ENTRIES", 1)
    assert run(command) == 0
    assert capsys.readouterr().err.splitlines().count(said) == 1


def test_an_existing_folder_is_never_shipped_to(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ship = tmp_path / "shipped"
    ship.mkdir()
    assert run([*arguments(data, tmp_path / "out"), "--ship", str(ship)]) == 2
    assert f"--ship {ship}: already exists; choose another folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_method_that_needs_a_tree_is_refused_before_another_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = Taxonomy.from_edges([("pet", "dog"), ("pet", "fish"), ("water", "fish"), ("water", "ship")])
    graph.write(tmp_path / "graph.json")
    labels, split = np.arange(60) % 3, np.repeat(["train", "val", "test"], 20)
    np.savez(tmp_path / "data.npz", split=split, features=np.eye(3, dtype=np.float32)[labels], labels=labels)
    data = [str(tmp_path / "data.npz"), "--taxonomy", str(tmp_path / "graph.json"), "--out", str(tmp_path / "out")]
    assert run(["compare", *data, "--methods", "cross-entropy,hxe", "--device", "cpu"]) == 2
    error = capsys.readouterr().err
    assert "error: method 'hxe' needs a tree, got a graph with 1 node of several parents; methods for graphs: " in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (VariantOptions(" hier-cos, hier-cos", "crm,none, crm"), {"hier-cos": ("crm", "none")}),
        (
            VariantOptions("hier-cos,hxe", "none,crm@hxe"),
            {"hier-cos": ("none",), "hxe": ("none", "crm")},
        ),
        (
            VariantOptions("cross-entropy,hier-cos,committee"),
            {
                "cross-entropy": ("none", "crm", "auto"),
                "hier-cos": ("none", "crm"),
                "committee": ("none", "crm", "auto"),
            },
        ),
    ],
)
def test_methods_and_rules_are_read_from_their_options(
    options: VariantOptions, expected: dict[str, tuple[str, ...]]
) -> None:
    options.check()
    assert options.by_method("logistic") == expected


@pytest.mark.parametrize("baseline", ["linear-svm", "logistic", ""])
def test_the_default_methods_include_the_flat_baseline(baseline: str) -> None:
    found = VariantOptions().by_method(baseline)
    flats = {"cross-entropy", "cross-entropy-mlp", baseline} - {""}
    assert set(found) == {*flats, "hier-cos", "committee"}
    assert {method for method, rules in found.items() if "auto" in rules} == {*flats, "committee"}


SOME_TEXTS = Texts(["a lion", "a car", "a dog", "a cat"])


@pytest.mark.parametrize(
    ("inputs", "backbone", "label", "expected"),
    [
        (SOME_TEXTS, "tfidf", 2, "linear-svm"),
        (SOME_TEXTS, "tfidf+minilm", 2, "linear-svm"),
        (SOME_TEXTS, "minilm", 2, "logistic"),
        (Vectors(np.zeros((4, 2), np.float32)), None, 2, "logistic"),
        (SOME_TEXTS, "tfidf", TOY17.num_classes + int(TOY17.parents.max()), "linear-svm"),
    ],
)
def test_the_flat_baseline_depends_on_features_and_labels(
    inputs: Inputs, backbone: str | None, label: int, expected: str
) -> None:
    dataset = Dataset(
        "animals", TOY17, inputs, nodes_of_labels([1, label, 1, 1], TOY17), np.array(["train", "train", "val", "test"])
    )
    assert flat_baseline(dataset, backbone) == expected


def test_the_flat_baseline_of_texts_is_left_out_of_large_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_module, "LARGEST_TEXT_BASELINE", 2 * TOY17.num_classes - 1)
    dataset = Dataset("animals", TOY17, SOME_TEXTS, TOY17.leaves[:4], np.array(["train", "train", "val", "test"]))
    assert flat_baseline(dataset, "tfidf") == ""


def test_texts_are_compared_with_a_linear_svm_under_a_rule_of_its_own(tmp_path: Path) -> None:
    rows = [
        ("a cat on a mat", "pet > cat"),
        ("a dog in a park", "pet > dog"),
        ("a red car on the road", "vehicle > car"),
    ]
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        writer.writerows((*row, split) for split in ("train", "train", "val", "test") for row in rows)
    quick = ["--seeds", "1", "--effort", "quick", "--epochs", "1", "--device", "cpu"]
    arguments = ["compare", str(tmp_path / "texts.csv"), "--out", str(tmp_path / "out"), *quick]
    assert run([*arguments, "--rules", "none,auto@linear-svm"]) == 0
    with (tmp_path / "out" / "results.csv").open() as file:
        found = {(row["method"], row["rule"]) for row in csv.DictReader(file)}
    methods = ["cross-entropy", "cross-entropy-mlp", "hier-cos", "committee", "linear-svm"]
    assert found == {*((method, "none") for method in methods), ("linear-svm", "auto")}


@pytest.mark.parametrize("methods", ["", " ", ","])
def test_an_empty_list_of_methods_is_refused(methods: str) -> None:
    with pytest.raises(ValueError, match="unknown method ''"):
        VariantOptions(methods).check()
