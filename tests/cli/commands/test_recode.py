"""`hiercos recode`, and `hiercos taxonomy crosswalk` before it."""

import csv
from pathlib import Path

import pytest

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.cli.app import run
from hiercos.data import load_dataset

NEW = Taxonomy.from_paths([("pet", "cat"), ("bird", "finch"), ("bird", "parrot")])
WORDS = {"cat": "soft purring", "finch": "tiny seeds", "parrot": "green talking"}
ROWS = "text,label,sku\ntiny seeds,bird,1\ngreen talking,bird,2\nstone,bird,3\npurring,cat,4\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recode")
    labels = [kind for kind in WORDS for _ in range(40)]
    texts = [f"{WORDS[kind].split()[number % 2]} {number % 5}" for number, kind in enumerate(labels)]
    HierarchicalClassifier(NEW, method="tree-logistic").fit(texts, labels).save(folder / "model")
    return folder / "model"


def recode(model: Path, folder: Path, *options: str, links: str = "bird,finch\nbird,parrot\ncat,cat\n") -> int:
    (folder / "map.csv").write_text("old,new\n" + links)
    if not (folder / "old.csv").exists():
        (folder / "old.csv").write_text(ROWS)
    files = ["--crosswalk", f"{folder}/map.csv", "--model", str(model), "--output", f"{folder}/new.csv"]
    return run(["recode", f"{folder}/old.csv", *files, *options])


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_rows_get_the_likeliest_candidate_and_keep_their_columns(model: Path, tmp_path: Path) -> None:
    assert recode(model, tmp_path) == 0
    rows = rows_of(tmp_path / "new.csv")
    assert [*rows[0]] == ["text", "label", "sku", "old_label", "probability", "other_candidates"]
    labels = [row["label"] for row in rows]
    assert [labels[0], labels[1], labels[3]] == ["bird > finch", "bird > parrot", "pet > cat"]
    assert [row["other_candidates"] for row in rows][:2] == ["bird > parrot", "bird > finch"]
    assert rows[3]["probability"] == "1.0"


def test_a_queue_without_rows_has_a_header(model: Path, tmp_path: Path) -> None:
    assert recode(model, tmp_path, "--queue", f"{tmp_path}/queue.csv") == 0
    header = "text,label,sku,old_label,probability,other_candidates\n"
    assert (tmp_path / "queue.csv").read_text() == header


def test_unsure_rows_and_those_that_are_gone_go_to_the_queue(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.csv").write_text(ROWS + "soft,fish,5\n")
    links = "bird,finch\nbird,parrot\ncat,cat\nfish,\n"
    assert recode(model, tmp_path, links=links) == 2
    assert "1 rows have a label that is gone, such as 'fish': expected --queue FILE" in capsys.readouterr().err
    assert not (tmp_path / "new.csv").exists()
    assert recode(model, tmp_path, "--queue", f"{tmp_path}/queue.csv", "--target-precision", "0.95", links=links) == 0
    queued = {row["sku"]: row for row in rows_of(tmp_path / "queue.csv")}
    assert {*queued} == {"3", "5"}
    assert queued["5"]["label"] == "pet > cat"
    assert "5 rows, 3 of them with several candidates: 3 in " in capsys.readouterr().err


def test_without_a_model_the_candidates_stay_in_a_column_to_learn_from(tmp_path: Path) -> None:
    NEW.write(tmp_path / "tree.csv")
    (tmp_path / "map.csv").write_text("old,new\nbird,finch\nbird,parrot\ncat,cat\n")
    (tmp_path / "old.csv").write_text(ROWS)
    files = ["--crosswalk", f"{tmp_path}/map.csv", "--taxonomy", f"{tmp_path}/tree.csv"]
    command = ["recode", f"{tmp_path}/old.csv", *files, "--output", f"{tmp_path}/new.csv"]
    assert run(command) == 0
    rows = rows_of(tmp_path / "new.csv")
    assert [row["candidates"] for row in rows] == ["bird > finch | bird > parrot"] * 3 + [""]
    assert [row["label"] for row in rows] == ["", "", "", "pet > cat"]
    found = load_dataset(tmp_path / "new.csv", taxonomy=NEW, purpose="train", test=False)
    assert [NEW.names[node] for node in found.nodes] == ["bird", "bird", "bird", "cat"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS + "x,dragon,5\n", [], "old.csv: row 6: expected an old label of "),
        (ROWS.replace("label", "code"), [], "expected a column 'label' (--label-column names another)"),
        (ROWS, ["--target-precision", "0.9"], "--target-precision: expected --model, and --queue FILE"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, options: list[str], message: str
) -> None:
    (tmp_path / "old.csv").write_text(rows)
    assert recode(model, tmp_path, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new.csv").exists()


def test_a_crosswalk_is_printed_proposes_names_and_is_a_map_when_these_are_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = Taxonomy.from_paths([("pet", "cat"), ("pet", "cats of prey")])
    new = Taxonomy.from_paths([("pet", "cat"), ("pet", "cat of prey")])
    old.write(tmp_path / "old.csv")
    new.write(tmp_path / "new.csv")
    command = ["taxonomy", "crosswalk", f"{tmp_path}/old.csv", f"{tmp_path}/new.csv"]
    assert run([*command, "--output", f"{tmp_path}/map.csv"]) == 0
    assert "gone: 1 node\nnew: 1 node\nproposed: " in capsys.readouterr().err
    rows = rows_of(tmp_path / "map.csv")
    assert rows[0] | {"change": "same", "by": "path"} == rows[0]
    (proposed,) = [row for row in rows if row["new"] == "pet > cat of prey" and row["change"] == "proposed"]
    assert float(proposed["score"]) > 0.5
    accepted = [{**row, "change": "" if row == proposed else row["change"]} for row in rows]
    with (tmp_path / "map.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(accepted)
    assert run([*command, "--map", f"{tmp_path}/map.csv", "--format", "json"]) == 0
    assert '"change": "renamed"' in capsys.readouterr().out
