"""`evaluate --scores`: what it writes, for a file of three samples worked by hand."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hiercos.cli.groups import OptionError
from hiercos.cli.scores import evaluate_scores
from hiercos.data.errors import DataError
from trees import TOY

SCORES = np.array([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2], [0.1, 0.0, 0.9]])  # cat, cat, car
LABELS = np.array(["cat", "dog", "car"])


def scores_file(folder: Path, name: str = "scores.npz", scores: np.ndarray = SCORES) -> Path:
    np.savez(folder / name, scores=scores, labels=LABELS[: len(scores)])
    return folder / name


def written_csv(folder: Path, path: Path, **options: object) -> list[dict[str, str]]:
    evaluate_scores(path, TOY, format="csv", output=folder / "out.csv", **options)  # type: ignore[arg-type]
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
    rows = written_csv(tmp_path, scores_file(tmp_path, scores=SCORES[:2]), per_class=True)
    assert [(row["class"], row["path"], row["samples"], row["top1"]) for row in rows] == [
        ("cat", "pet > cat", "1", "1.0"),
        ("dog", "pet > dog", "1", "0.0"),
    ]
    assert (rows[0]["mistake_severity"], rows[1]["mistake_severity"]) == ("", "1.0")


def test_per_level_has_a_row_for_each_level_and_node(tmp_path: Path) -> None:
    rows = written_csv(tmp_path, scores_file(tmp_path), per_level=True)
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
    rows = {row["metric"]: row for row in written_csv(tmp_path, scores_file(tmp_path), against=perfect)}
    top1 = {key: float(value) for key, value in rows["top1"].items() if key != "metric"}
    assert (top1["value"], top1["against"]) == (pytest.approx(2 / 3), 1.0)
    assert top1["difference"] == pytest.approx(-1 / 3)
    assert top1["p_value"] == 1.0  # one sample differs: any swap is as large
    assert rows["mistake_severity"]["against"] == ""


def test_files_of_other_samples_are_refused(tmp_path: Path) -> None:
    path, shorter = scores_file(tmp_path), scores_file(tmp_path, "shorter.npz", SCORES[:2])
    with pytest.raises(DataError, match=r"shorter.npz: expected the 3 samples of .*scores.npz, got 2"):
        evaluate_scores(path, TOY, against=shorter)
    np.savez(tmp_path / "other.npz", scores=SCORES, labels=LABELS[[0, 2, 2]])
    with pytest.raises(DataError, match=r"other.npz: sample 2: expected the label 'dog' as in .*, got 'car'"):
        evaluate_scores(path, TOY, against=tmp_path / "other.npz")


def test_json_has_null_where_nothing_is_known(tmp_path: Path) -> None:
    path = scores_file(tmp_path, scores=SCORES[:1])
    evaluate_scores(path, TOY, format="json", output=tmp_path / "out.json")
    rows = {row["metric"]: row for row in json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))}
    assert rows["mistake_severity"] == {
        "metric": "mistake_severity", "value": None, "low": None, "high": None, "samples": 0
    }  # fmt: skip
    assert rows["hops"]["value"] == 1.0


def test_a_table_and_latex_go_to_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate_scores(scores_file(tmp_path), TOY)
    assert "0.6667" in capsys.readouterr().out
    evaluate_scores(scores_file(tmp_path), TOY, per_class=True, format="latex")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrrrrrr}"
    assert lines[4].startswith(r"cat & pet $>$ cat & 1 & 1.0000 & – & 0.0000")


def test_options_that_exclude_each_other_or_are_unknown_are_refused(tmp_path: Path) -> None:
    path = scores_file(tmp_path)
    with pytest.raises(OptionError, match="at most one of --against, --per-class and --per-level"):
        evaluate_scores(path, TOY, per_class=True, per_level=True)
    with pytest.raises(OptionError, match="--format xml: expected one of csv, json, parquet, table, latex"):
        evaluate_scores(path, TOY, format="xml")
