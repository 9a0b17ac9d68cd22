"""`evaluate --scores`: what it writes, for a file of three samples worked by hand."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.app import run
from trees import TOY

SCORES = np.array([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2], [0.1, 0.0, 0.9]])  # cat, cat, car
LABELS = np.array(["cat", "dog", "car"])


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


def test_every_metric_has_a_row_with_its_value_and_interval(tmp_path: Path) -> None:
    rows = {row["metric"]: row for row in written_csv(tmp_path, scores_file(tmp_path))}
    assert float(rows["top1"]["value"]) == pytest.approx(2 / 3)
    assert float(rows["mistake_severity"]["value"]) == 1.0
    assert rows["mistake_severity"]["samples"] == "1"
    assert float(rows["accuracy_level_1"]["value"]) == 1.0
    assert float(rows["top1"]["low"]) < 2 / 3 < float(rows["top1"]["high"])


def test_ranked_names_give_only_what_they_can_tell(tmp_path: Path) -> None:
    (tmp_path / "ranked.csv").write_text("label,rank_1\ncat,cat\ndog,cat\n", encoding="utf-8")
    rows = {row["metric"]: row["value"] for row in written_csv(tmp_path, tmp_path / "ranked.csv")}
    assert (rows["top1"], rows["ahd_at_1"], rows["fpa"]) == ("0.5", "0.5", "0.5")
    assert {name for name, value in rows.items() if value == ""} >= {"hops", "hops_at_5", "ahd_at_5", "mrr"}


def test_per_class_has_a_row_for_each_class_with_samples(tmp_path: Path) -> None:
    rows = written_csv(tmp_path, scores_file(tmp_path, scores=SCORES[:2]), "--per-class")
    assert [(row["class"], row["path"], row["samples"], row["top1"]) for row in rows] == [
        ("cat", "pet > cat", "1", "1.0"),
        ("dog", "pet > dog", "1", "0.0"),
    ]
    assert (rows[0]["mistake_severity"], rows[1]["mistake_severity"]) == ("", "1.0")


def test_per_level_has_a_row_for_each_level_and_node(tmp_path: Path) -> None:
    rows = written_csv(tmp_path, scores_file(tmp_path), "--per-level")
    assert [(row["level"], row["node"], row["samples"], float(row["accuracy"])) for row in rows] == [
        ("1", "(all)", "3", 1.0),
        ("1", "pet", "2", 1.0),
        ("1", "vehicle", "1", 1.0),
        ("2", "(all)", "3", pytest.approx(2 / 3)),
        ("2", "pet > cat", "1", 1.0),
        ("2", "pet > dog", "1", 0.0),
        ("2", "vehicle > car", "1", 1.0),
    ]


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
    assert evaluate(scores_file(tmp_path), "--per-class", "--format", "latex") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrrrrrr}"
    assert lines[4].startswith(r"cat & pet $>$ cat & 1 & 1.0000 & -- & 0.0000")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scores", "s.npz", "--per-class", "--per-level"], "at most one of --against, --per-class and --per-level"),
        (["--scores", "s.npz", "--format", "xml"], "--format xml: expected one of csv, json, parquet, table, latex"),
        (["--scores", "s.npz"], "--scores: expected --taxonomy FILE with it"),
        (["--scores", "s.npz", "--taxonomy", "nothing.csv"], "nothing.csv"),
        (["model"], "expected MODEL and DATA, or --scores and --taxonomy"),
        (["model", "data.csv", "--scores", "s.npz"], "expected MODEL and DATA, or --scores and --taxonomy"),
        ([], "expected MODEL and DATA, or --scores and --taxonomy"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *arguments]) == 2
    assert message in capsys.readouterr().err
