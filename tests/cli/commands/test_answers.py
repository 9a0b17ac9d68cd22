"""Answers that are sure enough, restricted and explained, through predict and evaluate."""

import csv
import io
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from blobs import cloud
from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.cli.app import run
from hiercos.data import completed, load_dataset
from hiercos.errors import HiercosWarning
from hiercos.hub import PretrainedModel, load_pipeline
from hiercos.model import Classifier
from trees import TOY17

LEVELS = ("class_1", "family", "genus", "species")  # columns of the levels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Noisy data and a model of them that set calibration rows aside."""
    folder = tmp_path_factory.mktemp("answers")
    TOY17.with_ranks(["class", "family", "genus", "species"]).write(folder / "tree.csv")
    features, labels = cloud(TOY17, 1200)
    noisy = features.numpy() + np.random.default_rng(0).normal(scale=4.0, size=features.shape).astype(np.float32)
    np.savez(folder / "data.npz", features=noisy, labels=labels.numpy())
    np.savez(folder / "new.npz", features=noisy[:40])
    command = ["train", str(folder / "data.npz"), "--taxonomy", str(folder / "tree.csv"), "--out", str(folder / "m")]
    assert run([*command, "--epochs", "3", "--set", "width=64", "--set", "targets=true", "--device", "cpu"]) == 0
    return folder


def predicted(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[dict[str, str]], str]:
    capsys.readouterr()
    out = folder / "out.csv"
    command = ["predict", str(folder / "m"), str(folder / "new.npz"), *options]
    assert run([*command, "--output", str(out)]) == 0
    with out.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file)), capsys.readouterr().err


def test_levels_with_names_have_columns_of_these_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["predict", str(folder / "m"), str(folder / "new.npz")]
    assert run(command) == 0
    header, *rows = csv.reader(io.StringIO(capsys.readouterr().out))
    assert header == ["row", "class_1", "family", "genus", "species", "class", "score", "confidence"]
    assert len(rows) == 40
    assert run([*command, "--top", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("row,rank,class_1,family,genus,species,class,")


def test_the_calibration_rows_are_stored_and_used_for_nothing_else(folder: Path) -> None:
    data = completed(load_dataset(folder / "data.npz", taxonomy=folder / "tree.csv"), targets=True)
    aside = data.rows("calibration")
    assert json.loads((folder / "m" / "record.json").read_text())["learned"]["rows"] == 1200 - len(aside) - len(
        data.rows("test")
    )
    stored = Classifier.load(folder / "m")
    assert stored.calibration is not None
    assert len(stored.calibration) == len(aside)


def test_a_sure_answer_is_an_ancestor_and_says_what_would_follow(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, told = predicted(folder, capsys, "--confidence", "0.8")
    assert "P(" not in told
    assert any(row["class"] == "" for row in rows)
    for row in rows:
        path = [row[level] for level in LEVELS if row[level]]
        assert len(path) == int(row["level"])
        assert (row["confidence"] == row["score"] == "") if not path else float(row["confidence"]) >= 0.8
        assert (row["next"] == "") == (row["class"] != "")
        assert row["next"] == "" or float(row["next_confidence"]) < 0.8
    forced, _ = predicted(folder, capsys, "--confidence", "0.8", "--min-level", "1")
    assert all(row["class_1"] for row in forced)
    deeper, _ = predicted(folder, capsys, "--confidence", "0.8", "--min-level", "2")
    named, _ = predicted(folder, capsys, "--confidence", "0.8", "--min-level", "Family")
    assert named == deeper != forced


def test_answers_that_stop_above_a_class_are_counted_by_level(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, told = predicted(folder, capsys, "--confidence", "0.8", "--batch-size", "16")
    stopped = Counter(int(row["level"]) for row in rows if not row["class"])
    classes = sum(bool(row["class"]) for row in rows)
    assert set(stopped) >= {0, 1, 2}
    upper = ", ".join(f"{stopped[level]} at level {level}" for level in sorted(stopped, reverse=True) if level)
    upper += f", {stopped[0]} not at all (cannot say)"
    assert told == f"40 rows: {classes} answered with a class, {upper}.\n"
    assert (
        "40 rows: 0 answered with a class, 40 not at all (cannot say)."
        in predicted(folder, capsys, "--confidence", "1")[1]
    )
    for options in (["--confidence", "1e-9"], ["--rule", "back-off", "--top", "2"], ["--rule", "crm"]):
        assert "rows:" not in predicted(folder, capsys, *options)[1]


def test_an_inner_node_of_a_classs_name_restricts_to_all_below_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = Taxonomy.from_paths([("science", "science"), ("science", "space"), ("sport", "golf"), ("sport", "chess")])
    tree.write(tmp_path / "tree.csv")
    features, labels = cloud(tree, 200)
    np.savez(tmp_path / "data.npz", features=features.numpy(), labels=labels.numpy())
    np.savez(tmp_path / "new.npz", features=features.numpy()[:40])
    command = ["train", str(tmp_path / "data.npz"), "--taxonomy", str(tmp_path / "tree.csv")]
    settings = ["--method", "cross-entropy", "--epochs", "2", "--device", "cpu"]
    assert run([*command, *settings, "--out", str(tmp_path / "m")]) == 0
    (tmp_path / "names.txt").write_text("science\n", encoding="utf-8")
    both, names = {"science", "space"}, str(tmp_path / "names.txt")
    for options, expected in (
        (["--within", "science"], both),
        (["--allow", names], both),
        (["--deny", names], {"golf", "chess"}),
        (["--within", "science > science"], {"science"}),
    ):
        rows, _ = predicted(tmp_path, capsys, *options, "--top", "4")
        assert {row["class"] for row in rows} == expected, options


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--target-containment", "0.8"], "P(the answer contains the truth) >= 0.8 by split conformal calibration on"),
        (["--max-overshoot", "2"], "With confidence 0.95, the mean overshoot is at most 2 levels"),
        (["--max-overshoot", "2", "--delta", "0.2"], "With confidence 0.8, the mean overshoot is at most 2 levels"),
        (["--target-containment", "0.8", "--within", "A1"], None),
        (["--target-containment", "0.8", "--min-level", "1"], None),
    ],
)
def test_a_guarantee_is_named_only_where_it_holds(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str | None
) -> None:
    _, err = predicted(folder, capsys, *options)
    assert (told in err) if told else ("calibration" not in err)


def test_the_command_the_pipeline_and_the_estimator_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    from hiercos.onnx import OnnxModel

    assert run(["export", str(folder / "m"), "--onnx", str(folder / "m.onnx")]) == 0
    features = np.load(folder / "new.npz")["features"]
    request: dict[str, Any] = {"target_containment": 0.8}
    rows, _ = predicted(folder, capsys, "--target-containment", "0.8")
    expected = [[row[level] for level in LEVELS if row[level]] for row in rows]
    for answers in (
        Classifier.load(folder / "m").answers(features, **request),
        OnnxModel.load(folder / "m.onnx").answers(features, **request),
    ):
        assert [[answer[level] for level in LEVELS if answer[level]] for answer in answers] == expected
        assert [answer["level"] for answer in answers] == list(map(len, expected))
    decision = HierarchicalClassifier.load(folder / "m").predict_node(features, **request)
    assert [[TOY17.names[node] for node in TOY17.path(node)] for node in decision.nodes.tolist()] == expected
    only = load_pipeline(folder / "m", device="cpu")(features, within=["A1"], level_confidences=True)
    assert {(answer[LEVELS[0]], answer[f"{LEVELS[0]}_confidence"]) for answer in only} == {("A1", 1.0)}


def test_answers_stay_within_what_is_allowed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "allow.txt").write_text("A1 > B2\nA2\n")
    (folder / "deny.txt").write_text("D6\n")
    options = ["--allow", str(folder / "allow.txt"), "--deny", str(folder / "deny.txt"), "--top", "20"]
    rows, _ = predicted(folder, capsys, *options)
    assert {row["class"] for row in rows} == {"A2", "C5", "C6", "D7", "D8", "D9", "D10"}
    (folder / "prior.csv").write_text("row,label,weight\n1,A3,1\n")
    rows, _ = predicted(folder, capsys, "--row-prior", str(folder / "prior.csv"))
    assert rows[0]["class"] == "A3"


def test_explanations_and_probabilities_are_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = predicted(folder, capsys, "--explain", "--probabilities", "levels")
    assert float(rows[0][f"{LEVELS[0]}_confidence"]) >= float(rows[0]["confidence"]) - 1e-6
    assert 0 < float(rows[0]["runner_up_confidence"]) < 1
    assert rows[0]["because"].endswith(f"(against {rows[0]['runner_up']})")
    assert "reasons" not in rows[0]
    rows, _ = predicted(folder, capsys, "--probabilities", "nodes")
    assert list(rows[0])[1:6] == ["A2", "A3", "A4", "A5", "A1"]
    below = sum(float(rows[0][name]) for name in ("A1 > B1", "A1 > B2"))
    assert float(rows[0]["A1"]) == pytest.approx(below, abs=1e-9)


def test_a_table_of_explanations_has_a_block_for_each_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = predicted(folder, capsys, "--explain")
    command = ["predict", str(folder / "m"), str(folder / "new.npz"), "--explain", "--format", "table"]
    assert run([*command]) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert len(blocks) == 40
    shown = dict(line.split("  ", 1) for line in blocks[0].splitlines())
    expected = {name: value for name, value in rows[0].items() if value}
    assert {name.strip(): value.strip() for name, value in shown.items()} == expected


def test_a_misspelt_node_is_found_without_torch_and_before_the_data_are_read(folder: Path) -> None:
    program = (
        "import sys; from hiercos.cli.app import run; "
        f"code = run(['predict', {str(folder / 'm')!r}, 'missing.npz', '--within', 'A11']); "
        "print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"
    assert done.stderr == "error: --within: unknown name 'A11'; the nearest known label is 'A1'\n"


def test_hier_cos_explains_by_the_energy_on_each_node(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", str(folder / "data.npz"), "--taxonomy", str(folder / "tree.csv"), "--method", "hier-cos"]
    assert run([*command, "--epochs", "2", "--device", "cpu", "--out", str(folder / "cos")]) == 0
    out = folder / "why.csv"
    command = ["predict", str(folder / "cos"), str(folder / "new.npz"), "--explain"]
    assert run([*command, "--output", str(out)]) == 0
    with out.open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    features = np.load(folder / "new.npz")["features"]
    network = Classifier.load(folder / "cos").model.eval()
    with torch.inference_mode():
        shares = network(torch.tensor(features[:1]))[0].softmax(dim=0)
    path = [TOY17.names.index(row[level]) for level in LEVELS if row[level]]
    expected = shares[path].tolist()
    shown = ", ".join(f"energy on {TOY17.names[node]} {share:.2f}" for node, share in zip(path, expected, strict=True))
    assert row["because"] == f"{shown} (against {row['runner_up']})"
    (why,) = HierarchicalClassifier.load(folder / "cos").explain(features[:1])
    found = [(step["node"], step["features"][0]["weight"]) for step in why["reasons"]]
    assert [name for name, _ in found] == [TOY17.names[node] for node in path]
    assert [share for _, share in found] == pytest.approx(expected, abs=1e-6)


def test_every_rule_can_be_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["majority"], ["plurality"], ["speciesnet"], ["hf-beta:beta=0.5"], ["hie"]):
        assert len(predicted(folder, capsys, "--rule", *options)[0]) == 40
    names = list(TOY17.class_names)
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerows([["answer", *names], ["A1", *[0.0] * len(names)], ["A2", *[1.0] * len(names)]])
    (folder / "costs.csv").write_text(table.getvalue())
    rows, _ = predicted(folder, capsys, "--costs", str(folder / "costs.csv"))
    assert {row["class_1"] for row in rows} == {"A1"}


def test_evaluate_measures_answers_and_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def metrics(*options: str) -> dict[str, float]:
        capsys.readouterr()
        assert run(["evaluate", str(folder / "m"), str(folder / "data.npz"), *options, "--format", "json"]) == 0
        return {row["metric"]: row["value"] for row in json.loads(capsys.readouterr().out)}

    low, high = metrics("--confidence", "0.3"), metrics("--confidence", "0.95")
    assert high["containment"] >= low["containment"]
    assert high["depth"] < low["depth"]
    own, hops = metrics(), metrics("--rule", "hops")
    assert own["top5"] >= hops["top5"]
    assert metrics("--within", "A1")["top1"] != own["top1"]
    assert run(["evaluate", str(folder / "m"), str(folder / "data.npz"), "--by", "confidence"]) == 0
    assert "calibration_error" in capsys.readouterr().out
    curve = folder / "curve.csv"
    assert run(["evaluate", str(folder / "m"), str(folder / "data.npz"), "--curve", str(curve)]) == 0
    assert "Area under containment against coverage: back-off" in capsys.readouterr().err
    written = csv.DictReader(io.StringIO(curve.read_text(encoding="utf-8")))
    assert {row["rule"] for row in written} >= {"back-off", "darts", "speciesnet"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rule", "crm", "--confidence", "0.9"], "rule 'crm': expected 'back-off' with --confidence"),
        (["--confidence", "high"], "--confidence high: expected a number"),
        (["--confidence", "2"], "expected a --confidence above 0 and at most 1, got 2"),
        (["--target-containment", "0.999"], "--target-containment 0.999: expected at least 999 calibration samples"),
        (["--min-level", "order"], "--min-level: level 'order': expected class, family, genus, species, or a number"),
        (["--confidence", "0.9", "--delta", "0.1"], "--delta: expected --target-precision or --max-overshoot with it"),
        (["--target-precision", "0.5", "--delta", "2"], "expected a --delta above 0 and below 1, got 2"),
        (
            ["--within", "fish"],
            "--within: unknown name 'fish'; hiercos taxonomy convert MODEL names.json writes all names\n",
        ),
        (["--within", "A1 > B22"], "--within: unknown name 'A1 > B22'; the nearest known label is 'A1 > B2'"),
        (
            ["--within", "A2", "--allow", "TREE/only.txt"],
            "no class is left: --allow has none that --within 'A2' leaves",
        ),
        (["--confidence", "0.9", "--target-precision", "0.9"], "got --confidence and --target-precision"),
        (["--allow", "nowhere.txt"], "--allow nowhere.txt: cannot be read: "),
        (["--rule", "hf-beta:beta"], "rule 'hf-beta': expected parameters as name=value, got 'beta'"),
        (["--rule", "unknown"], "expected a rule fitted on held-out samples"),
        (["--costs", "c.csv", "--rule", "crm"], "--costs: expected no --rule with it"),
        (["--explain", "--top", "3"], "--explain and --top: expected one of them"),
        (["--top", "3", "--target-containment", "0.9"], "--top: expected no --target-containment with it\n"),
        (
            ["--probabilities", "nodes", "--confidence", "0.9", "--min-level", "1"],
            "--probabilities nodes: expected no --confidence or --min-level with it\n",
        ),
        (["--target-containment", "95"], "error: expected a --target-containment above 0 and below 1, got 95.0; did"),
        (["--format", "yaml"], "--format yaml: expected one of csv, json, parquet, table, latex, markdown, fiftyone"),
        (["--within-column", "region"], "--within-column region: expected a table as input, got"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    out = folder / "never.csv"
    (folder / "only.txt").write_text("A3\n")
    options = [option.replace("TREE", str(folder)) for option in options]
    assert run(["predict", str(folder / "m"), str(folder / "new.npz"), *options, "--output", str(out)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert not out.exists()


UNSURE = re.compile(
    r"No guarantee holds for the target: measured on \d+ held-out rows of the model before the last fit; training with "
    r"targets=true sets rows aside for one\."
)


def test_an_estimator_guarantees_a_target_only_if_it_set_samples_aside_and_else_says_why_not() -> None:
    features, labels = (each.numpy() for each in cloud(TOY17, 400))
    settings: dict[str, Any] = {"method": "tree-logistic", "random_state": 0}
    plain = HierarchicalClassifier(TOY17, **settings, memory=5).fit(features, labels)
    with pytest.warns(HiercosWarning, match=UNSURE):
        assert plain.predict_node(features, target_containment=0.9).guarantee == ""
    with pytest.warns(HiercosWarning, match=UNSURE):
        load_pipeline(PretrainedModel(plain.classifier_), device="cpu")(features, target_containment=0.9)
    aside = HierarchicalClassifier(TOY17, **settings, memory=5, options={"targets": True}).fit(features, labels)
    for fitted in (aside, aside.extend(features, labels)):
        decision = fitted.predict_node(features, target_containment=0.9)
        assert "P(the answer contains the truth) >= 0.9" in decision.guarantee
    with pytest.warns(HiercosWarning, match="No guarantee holds for the target: classes are restricted"):
        aside.predict_node(features, target_containment=0.9, within="A1")
    with pytest.warns(HiercosWarning, match=UNSURE):
        plain.extend(features, labels).predict_node(features, target_containment=0.9)


def test_an_extended_model_says_whether_its_target_has_a_guarantee_and_coarse_rows_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features, labels = (each.numpy() for each in cloud(TOY17, 800))
    paths = [
        TOY17.path_text(int(TOY17.parents[leaf] if row % 3 == 0 and TOY17.parents[leaf] >= 0 else leaf))
        for row, leaf in enumerate(TOY17.leaves[labels])
    ]
    np.savez(folder / "coarse.npz", features=features, labels=paths)
    data, tree = str(folder / "coarse.npz"), ["--taxonomy", str(folder / "tree.csv")]
    command = ["train", data, *tree, "--method", "path-softmax", "--epochs", "2", "--memory", "5", "--device", "cpu"]
    for name, options, told in (("plain", [], UNSURE.pattern), ("aside", ["--set", "targets=true"], "if labels are")):
        assert run([*command, *options, "--out", str(folder / name)]) == 0
        extend = ["extend", str(folder / name), data, *tree, "--epochs", "2", "--device", "cpu", *options]
        assert run([*extend, "--out", str(folder / f"{name}-extended")]) == 0
        for model in (name, f"{name}-extended"):
            capsys.readouterr()
            predict = ["predict", str(folder / model), str(folder / "new.npz"), "--output", str(folder / "out.csv")]
            assert run([*predict, "--target-containment", "0.8"]) == 0
            assert re.search(told, capsys.readouterr().err)
    assert run([*predict, "--rule", "back-off:target_containment=0.8,coarse_as_wrong=true"]) == 0
    assert "above a class: what stands below counted as wrong." in capsys.readouterr().err
    stored = Classifier.load(folder / "aside").calibration
    assert stored is not None
    known = load_dataset(folder / "coarse.npz", taxonomy=folder / "tree.csv")
    aside = completed(known, targets=True).rows("calibration")
    assert stored.coarse == tuple(np.flatnonzero(known.labels[aside] >= TOY17.num_classes).tolist())
