"""`hiercos reproduce` as a user meets it, on a tiny copy of CIFAR-100."""

import csv
import io
import json
from pathlib import Path

import pytest

from hiercos.cli.app import run
from hiercos.paper.published import published_table
from hiercos.paper.recipes import load_recipes
from hiercos.paper.reproduction import Attempt, table_recipes
from hiercos.paper.tables import narrow_table, notes
from paper_sets import write_cifar

SMALL = ["--seeds", "1", "--epochs", "1", "--set", "backbone.width=1", "--set", "backbone.size=8", "--device", "cpu"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cifar(tmp_path_factory.mktemp("data"), 4, 1)


@pytest.fixture(scope="module")
def ours(root: Path) -> Path:
    """A folder with a run of Hier-COS, for the commands to find."""
    out = root / "reproduced"
    arguments = ["--methods", "hier-cos", "--root", str(root), "--out", str(out)]
    assert run(["reproduce", "cifar100", *arguments, *SMALL]) == 0
    return out


def again(table: str, root: Path, ours: Path, *others: str) -> list[str]:
    return ["reproduce", table, "--methods", "hier-cos", "--root", str(root), "--out", str(ours), *SMALL, *others]


def test_our_figures_are_printed_beside_the_published_ones(
    root: Path, ours: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(again("2", root, ours)) == 0
    lines = capsys.readouterr().out.splitlines()
    (published,) = [line for line in lines if "published " in line and "77.79 ±0.145" in line]
    assert "│ Hier-COS │" in published
    assert any("│ ours, 1 seed │" in line for line in lines)
    assert any("│ difference" in line for line in lines)
    assert "Hier-COS: not the published recipe: training.epochs 1 instead of 100" in lines
    assert "Hier-COS: not the published recipe: backbone.width 1 instead of 8" in lines


def test_the_results_are_left_in_the_folder_with_what_was_changed(ours: Path) -> None:
    results = json.loads((ours / "cifar100.json").read_text(encoding="utf-8"))
    top1 = next(figure for figure in results["figures"] if figure["metric"] == "top1")
    assert (top1["published"], top1["published_half_width"]) == (0.7779, 0.00145)
    assert top1["difference"] == pytest.approx(top1["ours"] - 0.7779)
    assert "training.epochs 1 instead of 100" in top1["changes"]
    record = json.loads((ours / "cifar100" / "hier-cos" / "seed-0" / "record.json").read_text(encoding="utf-8"))
    assert top1["ours"] == record["rules"]["none"]["metrics"]["top1"]


def test_rows_for_programs_go_to_stdout_and_notes_to_stderr(
    root: Path, ours: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(again("consistency", root, ours, "--dataset", "cifar100", "--format", "csv")) == 0
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert [(row["row"], row["metric"], row["published"]) for row in rows] == [
        ("Hier-COS", "top1", "0.7779"),
        ("Hier-COS", "fpa", "0.7737"),
        ("Hier-COS", "hops", "0.93"),
    ]
    assert "not the published recipe" in captured.err


def test_where_nothing_could_be_run_it_is_said_what_to_put_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reproduced"
    assert run(["reproduce", "consistency", "--root", str(tmp_path), "--out", str(out), "--device", "cpu"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"error: fgvc-aircraft is not in {tmp_path}; expected there fgvc-aircraft-2013b/data")
    assert message.count(" is not in ") == 3
    assert not out.exists()


def test_data_that_are_absent_are_said_where_others_are_present(
    root: Path, ours: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(again("consistency", root, ours)) == 0
    printed = capsys.readouterr().out
    assert "Hier-COS on inaturalist19: not run: inaturalist19 is not in" in printed
    assert "Hier-COS on cifar100: not run" not in printed


def test_without_a_table_they_are_listed_with_the_data_present(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--root", str(root), "--format", "json"]) == 0
    captured = capsys.readouterr()
    tables = {row["table"]: row for row in json.loads(captured.out)}
    assert tables["consistency"]["present"] == "cifar100"
    assert tables["consistency"]["absent"] == "fgvc-aircraft, inaturalist19"
    assert tables["alpha"]["number"] == 7
    assert "tiered-imagenet-h is not in" in captured.err


def test_the_published_figures_are_shown_without_a_run_and_what_cannot_be_matched_is_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["reproduce", "tiered-imagenet-h", "--published"]) == 0
    printed = capsys.readouterr().out
    assert "72.27 ±0.209 †" in printed
    assert "Flamingo-I, Flamingo-II, HAFeat-I, HAFeat-II: The official level labels of this data set" in printed
    assert "HXE+CRM* by cross-entropy + crm" in printed
    assert "ours" not in printed.splitlines()[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cifar10"], "the paper has no table 'cifar10'; did you mean 'cifar100'?"),
        (["2", "--methods", "hier"], "table 'cifar100' has no recipe 'hier'"),
        (["2", "--set", "epochs=3"], "epochs: expected section.key=value, the section one of method, backbone"),
        (["2", "--format", "yaml"], "--format yaml: expected one of"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", *arguments, "--out", str(tmp_path / "out"), "--device", "cpu"]) == 2
    assert message in capsys.readouterr().err


def test_on_a_narrow_terminal_every_metric_has_a_line() -> None:
    table = published_table("alpha")
    attempts = [Attempt(recipe, {}) for recipe in table_recipes(table, load_recipes())]
    grid = narrow_table(table, attempts)
    assert [column.header for column in grid.columns] == ["row", "metric", "published"]  # nothing was run
    assert grid.row_count == len(table.rows) * len(table.columns)


def test_a_note_that_holds_for_several_rows_is_printed_once() -> None:
    table = published_table("cifar100")
    lines = notes(table, [Attempt(recipe, {}) for recipe in table_recipes(table, load_recipes())])
    (line,) = [line for line in lines if "softmax of a softmax" in line]
    assert line.startswith("HAFeat-I, HAFeat-II: ")
    assert len(lines) == len(set(lines))
