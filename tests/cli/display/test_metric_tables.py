"""`evaluate --scores`: what it writes, for a file of three samples worked by hand."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.app import run
from hiercos.cli.display.metric_tables import metric_rows
from hiercos.evaluation import sample_metrics
from hiercos.evaluation.scores import ScoreSet
from trees import TOY, TOY17

SCORES = np.array([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2], [0.1, 0.0, 0.9]])  # cat, cat, car
LABELS = np.array(["cat", "dog", "car"])
SPREAD = np.array([[0.3, 0.3, 0.4], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])  # in the first a pet is likelier than a car
WITHIN = ("--within", "pet")


def scores_file(folder: Path, name: str = "scores.npz", scores: np.ndarray = SCORES) -> Path:
    np.savez(folder / name, scores=scores, labels=LABELS[: len(scores)])
    return folder / name


def evaluate(path: Path, *options: str | Path) -> int:
    TOY.write(path.parent / "tree.csv")
    return run(["evaluate", "--scores", str(path), "--taxonomy", str(path.parent / "tree.csv"), *map(str, options)])


def written_csv(folder: Path, path: Path, *options: str | Path) -> list[dict[str, str]]:
    assert evaluate(path, "--format", "csv", "--output", folder / "out.csv", *options) == 0
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def first_cells(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines()[2:]]


def test_a_table_has_the_main_metrics_unless_others_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scores_file(tmp_path)
    assert evaluate(path) == 0
    out, err = capsys.readouterr()
    assert first_cells(out) == [
        *("top1", "macro_accuracy", "mistake_severity", "ahd_at_1", "hops", "top5", "log_loss"),
    ]
    assert err.splitlines()[1:] == ["7 of 22 metrics; --all shows the others."]  # after the note on the columns
    assert evaluate(path, "--metrics", "mrr, hops") == 0
    assert first_cells(capsys.readouterr().out) == ["mrr", "hops"]
    assert evaluate(path, "--all") == 0
    assert len(first_cells(capsys.readouterr().out)) == 22
    assert len(written_csv(tmp_path, path)) == 22


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--metrics", "hopps"], "--metrics: unknown metric 'hopps'; did you mean 'hops'?"),
        (["--metrics", "containment"], "--metrics: 'containment' is not measured here"),
        (["--metrics", "hops", "--all"], "--all, --metrics: expected one of them"),
        (["--all", "--by", "class"], "--all, --metrics: expected no --by with them"),
    ],
)
def test_metrics_that_cannot_be_shown_are_refused(
    options: list[str], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(scores_file(tmp_path), *options) == 2
    assert fault in capsys.readouterr().err


def test_every_metric_has_a_row_with_its_value_and_interval(tmp_path: Path) -> None:
    rows = {row["metric"]: row for row in written_csv(tmp_path, scores_file(tmp_path))}
    assert float(rows["top1"]["value"]) == pytest.approx(2 / 3)
    assert float(rows["mistake_severity"]["value"]) == 1.0
    assert rows["mistake_severity"]["samples"] == "1"
    assert float(rows["accuracy_level_1"]["value"]) == 1.0
    assert float(rows["top1"]["low"]) < 2 / 3 < float(rows["top1"]["high"])


def test_two_files_are_compared_on_the_same_samples(tmp_path: Path) -> None:
    perfect = scores_file(tmp_path, "perfect.npz", np.eye(3))
    rows = {row["metric"]: row for row in written_csv(tmp_path, scores_file(tmp_path), "--against", perfect)}
    top1 = {key: float(value) for key, value in rows["top1"].items() if key != "metric"}
    assert (top1["value"], top1["against"]) == (pytest.approx(2 / 3), 1.0)
    assert top1["difference"] == pytest.approx(-1 / 3)
    assert top1["p_value"] == 1.0  # one sample differs: any swap is as large
    assert rows["mistake_severity"]["against"] == ""


def test_files_of_other_samples_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, shorter = scores_file(tmp_path), scores_file(tmp_path, "shorter.npz", SCORES[:2])
    assert evaluate(path, "--against", shorter) == 2
    assert f"shorter.npz: expected the 3 samples of {path}, got 2" in capsys.readouterr().err
    np.savez(tmp_path / "other.npz", scores=SCORES, labels=LABELS[[0, 2, 2]])
    assert evaluate(path, "--against", tmp_path / "other.npz") == 2
    assert f"other.npz: sample 2: expected the label 'dog' as in {path}, got 'car'" in capsys.readouterr().err


def test_json_has_null_where_nothing_is_known(tmp_path: Path) -> None:
    path = scores_file(tmp_path, scores=SCORES[:1])
    assert evaluate(path, "--format", "json", "--output", tmp_path / "out.json") == 0
    rows = {row["metric"]: row for row in json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))}
    assert rows["mistake_severity"] == {
        "metric": "mistake_severity", "value": None, "low": None, "high": None, "samples": 0
    }  # fmt: skip
    assert rows["hops"]["value"] == 1.0


def test_a_table_and_latex_go_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(scores_file(tmp_path)) == 0
    assert "0.6667" in capsys.readouterr().out
    assert evaluate(scores_file(tmp_path), "--by", "class", "--format", "latex") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrrrrrrr}"
    assert lines[4].startswith(r"cat & pet $>$ cat & 1 & 1.0000 & -- & 0.0000")


def labels_file(folder: Path) -> Path:
    (folder / "labels.csv").write_text("path,label\na/1.jpg,cat\na/2.jpg,dog\na/3.jpg,car\na/4.jpg,car\n")
    return folder / "labels.csv"


def bioclip_file(folder: Path) -> Path:
    rows = ["1.jpg,pet,Cat,0.9", "1.jpg,pet,dog,0.1", "2.jpg,pet,cat,0.6", "2.jpg,pet,dog,0.4", "3.jpg,bird,owl,0.8"]
    rows += ["3.jpg,vehicle,car,0.2"]
    lines = ["file_name,kind,species,score", *(f"/photos/a/{row}" for row in rows)]
    (folder / "bioclip.csv").write_text("\n".join(lines) + "\n")
    return folder / "bioclip.csv"


def test_predictions_by_image_are_scored_with_the_labels_of_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bioclip_file(tmp_path)
    rows = {row["metric"]: row for row in written_csv(tmp_path, path, "--labels", labels_file(tmp_path))}
    assert float(rows["top1"]["value"]) == pytest.approx(2 / 3)
    assert (rows["top1"]["samples"], rows["hops"]["samples"], rows["hops"]["value"]) == ("3", "0", "")
    assert capsys.readouterr().err.splitlines() == [
        f"{path} has no prediction for 1 of 4 images of {tmp_path / 'labels.csv'}: no metric counts these.",
        "The taxonomy has no class for 1 of 6 predictions, such as 'owl' (count 1): these are left out and those below "
        "move up (images whose first prediction is left out: 1).",
        "Images have 1 to 2 of 3 classes ranked: metrics that need more leave them out.",
    ]


def test_predictions_by_image_are_broken_down_and_compared(tmp_path: Path) -> None:
    path, labels = bioclip_file(tmp_path), labels_file(tmp_path)
    levels = written_csv(tmp_path, path, "--labels", labels, "--by", "level")
    assert [(row["node"], float(row["accuracy"])) for row in levels[:3]] == [("(all)", 1), ("pet", 1), ("vehicle", 1)]
    answers = [("a/1.jpg", "cat"), ("a/2.jpg", "dog"), ("a/3.jpg", "car"), ("a/4.jpg", "cat")]
    images = [{"filepath": image, "prediction": f"some-id;;;;;;{name}"} for image, name in answers]
    (tmp_path / "net.json").write_text(json.dumps({"predictions": images}))
    against = written_csv(tmp_path, path, "--labels", labels, "--against", tmp_path / "net.json")
    assert (float(against[0]["value"]), float(against[0]["against"])) == (pytest.approx(2 / 3), 0.75)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "data.csv", "--labels", "l.csv"], "--labels: expected --scores with it"),
        (["--scores", "s.npz", "--by", "class", "--against", "o.npz"], "at most one of --against and --by"),
        (["--scores", "s.npz", "--format", "xml"], "--format xml: expected one of csv, json, parquet, table, latex"),
        (["--scores", "s.npz"], "--scores: expected --taxonomy FILE with it"),
        (["--scores", "s.npz", "--taxonomy", "nothing.csv"], "nothing.csv"),
        (["--scores", "s.npz", "--against", "o.npz", "--rule", "crm"], "--against: expected no --rule, --curve or"),
        (["--scores", "s.npz", "--target-precision", "0.9"], "--scores: expected --confidence in place of a target"),
        (["model"], "expected MODEL and DATA, or --scores and --taxonomy"),
        (["model", "data.csv", "--scores", "s.npz"], "unexpected argument model: --scores goes without MODEL and DATA"),
        (["model", "data.csv", "--against", "old"], "model: there is no such folder"),
        ([], "expected MODEL and DATA, or --scores and --taxonomy"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *arguments]) == 2
    assert message in capsys.readouterr().err


def values(rows: list[dict[str, str]]) -> dict[str, float]:
    return {row["metric"]: float(row["value"]) for row in rows if row["value"]}


def test_a_rule_orders_the_classes_by_the_probabilities_of_a_file(tmp_path: Path) -> None:
    path = scores_file(tmp_path, scores=SPREAD)
    found = {name: values(written_csv(tmp_path, path, "--rule", name)) for name in ("none", "crm", "auto")}
    assert [found[name]["top1"] for name in found] == pytest.approx([1 / 3, 2 / 3, 1 / 3])
    assert found["none"]["log_loss"] == pytest.approx(-np.log([0.3, 0.3, 0.8]).mean())
    by_class = written_csv(tmp_path, path, "--rule", "crm", "--by", "class")
    assert [(row["class"], float(row["top1"])) for row in by_class] == [("cat", 1), ("dog", 0), ("car", 1)]


def test_a_confidence_answers_the_probabilities_of_a_file_at_any_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scores_file(tmp_path, scores=SPREAD)
    found = values(written_csv(tmp_path, path, "--confidence", "0.55"))
    assert (found["precision"], found["answered"]) == (pytest.approx(2 / 3), 1)  # pet, cat, car
    assert evaluate(path, "--confidence", "0.55", "--by", "class") == 2
    assert "--by class: expected no --confidence, target or --rule that answers at any" in capsys.readouterr().err


def test_the_probabilities_of_a_file_are_restricted_to_the_allowed_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scores_file(tmp_path, scores=SPREAD)
    levels = [values(written_csv(tmp_path, path, *more))["accuracy_level_1"] for more in (("--rule", "none"), WITHIN)]
    assert levels == pytest.approx([2 / 3, 2 / 3])  # the first row is a pet within pets, the last one no car
    assert values(written_csv(tmp_path, path, *WITHIN))["top1"] == pytest.approx(1 / 3)
    assert values(written_csv(tmp_path, path, *WITHIN))["log_loss"] > 100  # the car is not allowed
    assert "1 of 3 samples are labelled outside the allowed classes: no answer" in capsys.readouterr().err
    assert evaluate(scores_file(tmp_path, scores=np.array([[0.0, 0.0, 1.0]])), *WITHIN) == 2
    assert "scores.npz: row 1 (index 0): " in capsys.readouterr().err


def test_reliability_and_operating_curves_of_the_probabilities_of_a_file(tmp_path: Path) -> None:
    path = scores_file(tmp_path, scores=SPREAD)
    rows = written_csv(tmp_path, path, "--by", "confidence")
    classes = [row for row in rows if row["level"] == "2" and row["confidence"] == "(all)"]
    assert [float(row["mean_confidence"]) for row in classes] == pytest.approx([0.6])
    assert evaluate(path, "--curve", tmp_path / "curve.csv") == 0
    with (tmp_path / "curve.csv").open(newline="", encoding="utf-8") as file:
        precisions = {row["rule"]: float(row["precision"]) for row in csv.DictReader(file)}
    assert precisions["majority"] == pytest.approx(2 / 3)
    assert (tmp_path / "curve.html").exists()


def test_a_label_at_an_inner_node_and_classes_without_a_column_go_with_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    labels, classes = np.array(["pet", "dog"]), np.array(["dog", "cat"])
    np.savez(path, scores=np.array([[0.75, 0.25], [0.5, 0.5]]), labels=labels, classes=classes)
    found = values(written_csv(tmp_path, path, "--rule", "none"))
    assert found["accuracy_level_1"] == 1
    assert found["log_loss"] == pytest.approx(-np.log(0.5) / 2)  # a pet for certain, and a dog


@pytest.mark.parametrize(
    ("scores", "fault"),
    [
        (
            [[0.7, 0.2, 0.1], [2.0, -1.0, 0.0]],
            "row 2 (index 1): expected probabilities, at least 0 and with a sum of 1",
        ),
        ([[0.7, 0.7, 0.1]], "got scores from 0.1 to 0.7 with a sum of 1.5"),
    ],
)
def test_a_rule_needs_probabilities(
    scores: list[list[float]], fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scores_file(tmp_path, scores=np.array(scores))
    assert evaluate(path, "--rule", "crm", "--output", tmp_path / "out.csv") == 2
    assert fault in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("ranked", [["cat"], ["cat", "dog", "car"]])
def test_a_rule_refuses_ranked_names(ranked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ranked.npz"
    np.savez(path, ranked=np.array([ranked]), labels=np.array(["cat"]))
    assert evaluate(path, "--rule", "crm") == 2
    assert "expected probabilities of the classes, got a ranking of them" in capsys.readouterr().err


def test_metrics_that_are_equal_for_all_samples_have_no_interval_of_zero_width() -> None:
    found = ScoreSet(np.eye(17, dtype=np.float32), np.arange(17), 17)
    rows = {row["metric"]: row for row in metric_rows(sample_metrics(found, TOY17))}
    assert rows["top1"]["value"] == rows["top1"]["high"] == 1
    assert rows["top1"]["low"] == pytest.approx(1 - 3.8415 / (17 + 3.8415), abs=1e-4)  # Wilson's, of 17 of 17
    assert math.isnan(rows["ahd_at_1"]["low"])
    assert np.isfinite(rows["ahd_at_5"]["low"])
