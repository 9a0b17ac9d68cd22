"""Labels of any depth, graphs and growing taxonomies through the commands, on small vectors."""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.app import run
from hiercos.model import Classifier
from hiercos.records import RUNS, Record
from hiercos.taxonomy import Taxonomy

OLD = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
NEW = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("vehicle", "car"), ("plant", "oak")])
FISH = Taxonomy.from_edges([("water", "fish"), ("pet", "fish"), ("pet", "dog"), ("water", "ship")])
FAST = ["--epochs", "6", "--device", "cpu", "--lr", "0.02"]
NARROW = [*FAST, "--set", "width=16"]


def settings(method: str) -> list[str]:
    """A method and quick settings that it has."""
    return ["--method", method, *(FAST if method in ("cross-entropy", "siblings", "tree-logistic") else NARROW)]


def trained(tree: Taxonomy, data: Path, *options: str) -> str:
    """Folder of a model that is trained on the data, beside them."""
    tree.write(data.parent / "tree.json")
    out = str(data.parent / "model")
    assert run(["train", str(data), "--taxonomy", str(data.parent / "tree.json"), "--out", out, *options]) == 0
    return out


def extended(model: str, tree: Taxonomy, data: Path, out: str, *options: str) -> int:
    """Exit code of extending a model, to a folder beside the data."""
    tree.write(data.parent / "new-tree.json")
    files = ["--taxonomy", str(data.parent / "new-tree.json"), "--out", str(data.parent / out)]
    return run(["extend", model, str(data), *files, *options])


def evaluated(model: str | Path, data: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    """Values of the metrics of a model by name."""
    capsys.readouterr()
    assert run(["evaluate", str(model), str(data), "--format", "json"]) == 0
    return {row["metric"]: row["value"] for row in json.loads(capsys.readouterr().out)}


def write_data(
    path: Path,
    names: list[str],
    *,
    coarse: dict[str, str] | None = None,
    splits: tuple[str, ...] = ("train",),
    seed: int = 0,
) -> Path:
    """Vectors around one corner of a cube for each name, with splits; some labels of given splits are replaced."""
    generator = np.random.default_rng(seed)
    corners = {name: 4 * np.random.default_rng(sum(map(ord, name))).normal(size=6) for name in names}
    labels = np.repeat(names, 40)
    features = np.stack([corners[name] for name in labels]) + generator.normal(size=(len(labels), 6))
    split = np.tile(["train"] * 6 + ["val", "val", "test", "test"], len(labels) // 10)
    half = (np.arange(len(labels)) % 20 < 10) & np.isin(split, splits)
    written = [(coarse or {}).get(name, name) if chosen else name for name, chosen in zip(labels, half, strict=True)]
    np.savez(path, features=features.astype(np.float32), labels=np.array(written), split=split)
    return path


def figures(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The row of metrics that a command printed as CSV."""
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    return row


def test_test_rows_labelled_with_the_root_are_part_of_a_finished_run(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"], coarse={"cat": "root"}, splits=("train", "test"))
    model = trained(OLD, data, *settings("cross-entropy"))
    assert run(["report", model, "-o", str(tmp_path / "report.html")]) == 0


@pytest.mark.parametrize("method", ["committee", "hier-cos", "cross-entropy", "siblings"])
def test_a_model_learns_from_inner_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"], coarse={"cat": "pet", "dog": "pet", "car": "root"})
    model = trained(OLD, data, *settings(method), "--format", "csv")
    assert float(figures(capsys)["top1"]) > 0.9
    assert evaluated(model, data, capsys).keys() >= {"top1", "hops", "accuracy_level_1"}


@pytest.mark.parametrize("method", ["committee", "hier-cos", "siblings", "tree-logistic"])
def test_labels_of_validation_may_be_inner_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    coarse = {"cat": "pet", "dog": "pet", "car": "root"}
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"], coarse=coarse, splits=("val", "test"))
    trained(OLD, data, *settings(method), "--format", "csv")
    assert float(figures(capsys)["top1"]) > 0.9


def test_methods_that_need_classes_learn_from_the_rows_that_have_one_alike_in_compare_and_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    OLD.write(tmp_path / "tree.csv")
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"], coarse={"cat": "pet"}, splits=("train", "val"))
    given, note = (
        [str(data), "--taxonomy", str(tmp_path / "tree.csv")],
        "Learned from the 60 of 72 training rows that are",
    )
    arguments = ["compare", *given, *FAST, "--methods", "cross-entropy,logistic", "--out", str(tmp_path / "out")]
    assert run([*arguments, "--seeds", "1", "--format", "csv"]) == 0
    told = capsys.readouterr()
    assert f"{note} labelled with a class alone: logistic." in told.err
    top1 = {row["method"]: float(row["top1"]) for row in csv.DictReader(told.out.splitlines())}
    assert top1["logistic"] > 0.9
    runs = {name: tmp_path / "out" / RUNS / name / "seed-0" for name in top1}
    learned = {name: Record.read(folder).learned["rows"] for name, folder in runs.items()}
    assert learned["cross-entropy"] - learned["logistic"] == 16
    assert run(["train", *given, "--method", "logistic", "--out", str(tmp_path / "model")]) == 0
    assert f"{note} labelled with a class alone: logistic." in capsys.readouterr().err
    weights = "model.safetensors"
    assert (tmp_path / "model" / weights).read_bytes() == (runs["logistic"] / weights).read_bytes()


def test_the_data_of_a_model_that_learned_from_a_part_of_them_are_known_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"], coarse={"cat": "pet"})
    arrays = dict(np.load(data))
    np.savez(data, features=arrays["features"], labels=arrays["labels"])
    model = trained(OLD, data, "--method", "logistic")
    assert run(["evaluate", model, str(data)]) == 0
    assert "is what the model was trained on: only its" in capsys.readouterr().err


def test_without_two_classes_left_a_method_that_needs_them_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    OLD.write(tmp_path / "tree.csv")
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"])
    arrays = dict(np.load(data))
    coarse = np.where(np.isin(arrays["labels"], ["cat", "dog"]) & (arrays["split"] == "train"), "pet", arrays["labels"])
    np.savez(data, **arrays | {"labels": coarse})
    arguments = ["train", str(data), "--taxonomy", str(tmp_path / "tree.csv"), "--method", "haframe", *NARROW]
    assert run([*arguments, "--out", str(tmp_path / "model")]) == 2
    assert "method 'haframe' learns from samples labelled with a class: expected at least two classes among the " in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("method", ["committee", "hier-cos"])
def test_a_graph_goes_through_train_evaluate_and_predict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    data = write_data(tmp_path / "data.npz", ["fish", "dog", "ship"], coarse={"dog": "pet"})
    model = trained(FISH, data, *settings(method), "--format", "csv")
    assert float(figures(capsys)["top1"]) > 0.9
    names = evaluated(model, data, capsys).keys()
    assert "hops" in names
    assert "fpa" not in names
    for by in ("level", "confidence"):
        assert run(["evaluate", model, str(data), "--by", by]) == 2
        assert f"--by {by}: expected a tree, got a graph with 1 node of several parents" in capsys.readouterr().err
    assert run(["predict", model, str(data)]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    by_class = {row["class"]: json.loads(row["ancestors"]) for row in rows}
    assert by_class == {"fish": ["water", "pet"], "dog": ["pet"], "ship": ["water"]}
    assert run(["predict", model, str(data), "--confidence", "0.9", "--explain"]) == 0
    (first, *_) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert {"ancestors", "level", "next", "runner_up", "because"} <= first.keys()
    assert run(["train", str(data), "--taxonomy", str(tmp_path / "tree.json"), "--method", "hxe", "--out", "x"]) == 2
    assert "method 'hxe' needs a tree, got a graph with 1 node of several parents" in capsys.readouterr().err


def test_a_model_is_extended_with_and_without_its_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = write_data(tmp_path / "old.npz", ["cat", "dog", "car"])
    new = write_data(tmp_path / "new.npz", ["fish", "oak"], seed=1)
    model = trained(OLD, old, "--memory", "10", *settings("path-softmax"))
    accuracy = {}
    for memory in ("10", "0"):
        capsys.readouterr()
        assert extended(model, NEW, new, memory, *FAST, "--memory", memory, "--format", "csv") == 0
        told = capsys.readouterr()
        assert "matched: 5 nodes\nadded: 3 nodes (plant; pet > fish; plant > oak)\nrenamed: 0 nodes" in told.err
        accuracy[memory] = evaluated(tmp_path / memory, old, capsys)["top1"]
        assert (Classifier.load(tmp_path / memory).memory is not None) == (memory == "10")
    assert accuracy["10"] > 0.9
    assert accuracy["10"] >= accuracy["0"]


WORDS = {  # the new classes have words of the old ones, since the encoder keeps its vocabulary
    "cat": "purr whisker meow",
    "dog": "bark leash bone",
    "car": "wheel motor road",
    "fish": "meow bone road",
    "oak": "bark motor whisker",
}


def write_texts(path: Path, names: list[str]) -> Path:
    """Texts of two words of each name, with splits."""
    lines = ["text,label,split"]
    for name in names:
        words = WORDS[name].split()
        for number in range(30):
            split = "val" if number % 6 == 4 else "test" if number % 6 == 5 else "train"
            lines.append(f"{words[number % 3]} {words[(number + 1 + number // 3 % 2) % 3]} {number % 7},{name},{split}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("method", ["committee", "path-softmax"])
def test_a_model_of_texts_is_extended_and_remembers_the_old_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    everything = write_texts(tmp_path / "all-texts.csv", list(WORDS))
    old = write_texts(tmp_path / "old-texts.csv", ["cat", "dog", "car"])
    new = write_texts(tmp_path / "new-texts.csv", ["fish", "oak"])
    longer = [*FAST, "--epochs", "60"]
    model = trained(OLD, old, "--method", method, *longer, "--memory", "15")
    assert extended(model, NEW, new, "extended", *longer) == 0
    assert evaluated(tmp_path / "extended", everything, capsys)["top1"] > 0.8
    assert extended(str(tmp_path / "extended"), NEW, new, "again", *FAST) == 0  # the extended model keeps a memory


@pytest.mark.parametrize("method", ["committee", "hier-cos", "cross-entropy", "siblings", "tree-logistic"])
def test_one_new_class_alone_extends_a_model_and_the_old_ones_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    larger = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("vehicle", "car")])
    old = write_data(tmp_path / "old.npz", ["cat", "dog", "car"])
    new = write_data(tmp_path / "new.npz", ["fish"], seed=1)
    model = trained(OLD, old, "--memory", "10", *settings(method))
    capsys.readouterr()
    assert extended(model, larger, new, "extended", *FAST, "--epochs", "20") == 0
    told = capsys.readouterr().err
    shares = re.search(
        r"New classes: top-1 (.+)% of 8 test rows.\nOld classes: top-1 (.+)% of 6 rows held out in the training of the "
        r"extension\.\nThe training of the old model held out other rows: top-1 (.+)% of 24 rows\.",
        told,
    )
    assert shares is not None
    assert min(map(float, shares.groups())) > 60
    assert "will forget" not in told
    assert evaluated(tmp_path / "extended", old, capsys)["top1"] > 0.6


def test_remembered_samples_of_a_class_that_is_divided_are_left_out_by_a_method_that_needs_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    divided = Taxonomy.from_paths(
        [("pet", "cat"), ("pet", "dog"), ("vehicle", "car", "bus"), ("vehicle", "car", "van")]
    )
    model = trained(OLD, write_data(tmp_path / "old.npz", ["cat", "dog", "car"]), "--method", "tree-logistic")
    new = write_data(tmp_path / "new.npz", ["bus", "van"], coarse={"van": "car"}, seed=1)
    capsys.readouterr()
    assert extended(model, divided, new, "extended") == 0
    assert "labelled with a class alone: tree-logistic." in capsys.readouterr().err
    everything = write_data(tmp_path / "all.npz", ["cat", "dog", "bus", "van"], seed=2)
    assert evaluated(tmp_path / "extended", everything, capsys)["top1"] > 0.8


def test_one_new_class_without_a_memory_is_learned_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained(
        OLD, write_data(tmp_path / "old.npz", ["cat", "dog", "car"]), "--memory", "0", *settings("cross-entropy")
    )
    capsys.readouterr()
    for names, expected in (
        (["fish"], ["Old classes: not measured, there are no test rows or", "the model will forget the old classes;"]),
        (["fish", "cat"], ["New classes: top-1 100.00% of 8 test rows.\nOld classes: top-1 "]),
        (["cat"], ["New classes: not measured, the data have no test rows of them."]),
    ):
        new = write_data(tmp_path / f"{'-'.join(names)}.npz", names, seed=1)
        assert extended(model, NEW, new, "-".join(names), *FAST) == 0
        told = capsys.readouterr().err
        for sentence in expected:
            assert sentence in told
        assert ("forget" in told) == (names == ["fish"])


@pytest.mark.parametrize("method", ["committee", "cross-entropy"])
def test_rows_of_training_alone_extend_a_model_that_has_a_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    old = write_texts(tmp_path / "old-texts.csv", ["cat", "dog", "car"])
    new = tmp_path / "new-texts.csv"
    new.write_text("text,label,split\nmeow bone,fish,train\nbone road,fish,train\nroad meow,fish,train\n")
    model = trained(OLD, old, "--memory", "15", *settings(method))
    capsys.readouterr()
    assert extended(model, NEW, new, "extended", *FAST) == 0
    told = capsys.readouterr()
    assert "New classes: not measured, the data have no test rows of them.\nOld classes: top-1 " in told.err
    assert "Warning" not in told.err
    assert not told.out
    assert run(["predict", str(tmp_path / "extended"), str(new)]) == 0
    assert run(["report", str(tmp_path / "extended"), "-o", str(tmp_path / "report.html")]) == 0
    capsys.readouterr()
    if method == "cross-entropy":  # without a memory there is nothing to validate on
        assert extended(model, NEW, new, "alone", *FAST, "--memory", "0") == 2
        told = capsys.readouterr().err
        assert "no row belongs to the split 'val', and there is no remembered sample to validate on;" in told


def test_the_old_model_is_measured_on_the_old_classes_beside_the_extended_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = Taxonomy.from_paths([("car",), ("vehicle", "cat"), ("vehicle", "dog"), ("vehicle", "fish")])
    ids = {"pet": "p", "vehicle": "v", "cat": "1", "dog": "2", "car": "3", "fish": "4"}
    before, after = (
        Taxonomy.from_arrays(tree.names, tree.parents, tree.leaves, ids=[ids[each] for each in tree.names])
        for tree in (OLD, renamed)
    )
    old = write_data(tmp_path / "old.npz", ["cat", "dog", "car"])
    new = write_data(tmp_path / "new.npz", ["cat", "dog", "car", "fish"])
    model = trained(before, old, *settings("cross-entropy"), "--epochs", "40")
    found = evaluated(model, old, capsys)
    assert extended(model, after, new, "extended", *FAST) == 0
    told = capsys.readouterr().err
    assert "moved: 3 nodes" in told
    assert f"of 24 test rows; the old model: {100 * found['top1']:.2f}%." in told


def test_a_model_whose_weights_are_solved_needs_old_samples_to_be_extended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write_data(tmp_path / "old.npz", ["cat", "dog", "car"])
    new = write_data(tmp_path / "new.npz", ["fish", "oak"])
    for method, message in (
        ("haframe", "method 'haframe' cannot be extended; methods that can: "),
        (
            "committee",
            "method 'committee' finds its weights from all samples at once: expected training rows of every old class,",
        ),
    ):
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
        model = trained(OLD, old, "--memory", "0", *settings(method))
        capsys.readouterr()
        assert extended(model, NEW, new, "out") == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
    every = write_data(tmp_path / "every.npz", ["cat", "dog", "car", "fish", "oak"])
    assert extended(model, NEW, every, "out", *FAST) == 0


def test_what_cannot_be_extended_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = write_data(tmp_path / "old.npz", ["cat", "dog", "car"])
    model = trained(OLD, old, "--method", "cross-entropy", "--epochs", "1", "--memory", "0")
    assert extended(model, Taxonomy.from_paths([("x", "y"), ("x", "z")]), old, "out") == 2
    assert "expected nodes of the model's taxonomy, none has the same id or path" in capsys.readouterr().err
    assert extended(model, OLD, old, "out", "--memory", "5") == 2
    assert "has no memory; hiercos train --memory keeps one" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_level_of_hier_cos_is_exported_with_its_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    data = write_data(tmp_path / "data.npz", ["cat", "dog", "car"])
    model = trained(OLD, data, *settings("hier-cos"))
    capsys.readouterr()
    export = ["export", model, "--onnx", str(tmp_path / "level.onnx"), "--level", "1"]
    assert run([*export, "--data", str(data)]) == 0
    told = capsys.readouterr().err
    assert "whole: accuracy at level 1 " in told
    assert "pruned: accuracy at level 1 " in told
    assert run(["predict", str(tmp_path / "level.onnx"), str(data)]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["class"] for row in rows} == {"pet", "vehicle"}
    assert run(["export", model, "--onnx", str(tmp_path / "a.onnx"), "--level", "3"]) == 2
    assert "expected a level from 1 to 2, got 3" in capsys.readouterr().err


def test_wrong_answers_and_those_that_change_between_two_models_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, wrong = write_data(tmp_path / "data.npz", ["cat", "dog", "car"]), tmp_path / "wrong.csv"
    old = str(Path(trained(OLD, data, "--method", "cross-entropy", "--epochs", "1")).rename(tmp_path / "old"))
    new = trained(OLD, data, "--method", "cross-entropy", "--epochs", "30")
    accuracy = evaluated(old, data, capsys)["top1"], evaluated(new, data, capsys)["top1"]
    assert run(["evaluate", old, str(data), "--errors", str(wrong)]) == 0
    with wrong.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == round(24 * (1 - accuracy[0])) > 5
    assert list(rows[0]) == ["file", "row", "input", "truth", "answer", "distance", "confidence"]
    assert all(row["truth"] != row["answer"] and (row["file"], row["input"]) == (str(data), "") for row in rows)
    labels = np.load(data)["labels"]
    assert all(row["truth"].endswith(str(labels[int(row["row"]) - 1])) for row in rows)
    assert [row["distance"] for row in rows] == sorted((row["distance"] for row in rows), reverse=True)
    capsys.readouterr()
    assert run(["evaluate", new, str(data), "--against", old, "--format", "json"]) == 0
    every, *branches = json.loads(capsys.readouterr().out)
    assert (every["branch"], every["samples"]) == ("all", 24)
    assert (every["top1_before"], every["top1"]) == pytest.approx(accuracy)
    assert every["gained"] - every["lost"] == round(24 * (accuracy[1] - accuracy[0])) > 5
    assert [each["branch"] for each in branches] == ["pet", "vehicle"]
    for name in ("samples", "changed", "gained", "lost"):
        assert sum(each[name] for each in branches) == every[name]
    assert run(["evaluate", new, str(data), "--against", old, "--errors", str(wrong)]) == 2
    assert run(["evaluate", old, str(data), "--errors", "wrong.txt"]) == 2
    assert "--errors wrong.txt: expected a name that ends in one of .csv, .json, .parquet" in capsys.readouterr().err


def test_a_crosswalk_names_what_old_nodes_became(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remembered dogs are hounds; the new data have none of them."""
    model = trained(OLD, write_data(tmp_path / "data.npz", ["cat", "dog", "car"]), "--method", "tree-logistic")
    renamed = Taxonomy.from_paths([("pet", "cat"), ("pet", "hound"), ("vehicle", "car"), ("vehicle", "bus")])
    new = write_data(tmp_path / "new.npz", ["cat", "car", "bus"], seed=1)
    (tmp_path / "map.csv").write_text("old,new\ndog,hound\n")
    assert extended(model, renamed, new, "grown", "--crosswalk", str(tmp_path / "map.csv")) == 0
    assert "renamed: 1 node (pet > hound)" in capsys.readouterr().err
    dogs = np.load(tmp_path / "data.npz")["features"][40:80]
    answers = Classifier.load(tmp_path / "grown").answers(dogs)
    assert np.mean([answer["class"] == "hound" for answer in answers]) > 0.9
