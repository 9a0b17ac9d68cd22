"""`hiercos review`, and the way of its decisions back into a model."""

import csv
import json
from pathlib import Path

import pytest

from hiercos.cli.app import run
from hiercos.records import Record
from onnx_exports import of_vectors
from serving import texts_of, trained_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_folder(tmp_path_factory.mktemp("review")).parent


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_queue_has_the_rows_that_the_model_is_least_sure_of(folder: Path, tmp_path: Path) -> None:
    rows = ["purring whiskers", "furry", "metal wheels engine", "furry metal"]
    (tmp_path / "new.csv").write_text("\n".join(["text", *rows]))
    words = ["review", str(folder / "model"), str(tmp_path / "new.csv"), "--rows", "2"]
    assert run([*words, "--output", str(tmp_path / "queue.csv")]) == 0
    queue = cells(tmp_path / "queue.csv")
    assert {row["text"] for row in queue} == {"furry", "furry metal"}
    assert {row["sure"] for row in queue} == {"pet", ""}
    assert run([*words, "--for", "label-studio", "--output", str(tmp_path / "tasks.json")]) == 0
    assert [task["data"]["row"] for task in json.loads((tmp_path / "tasks.json").read_text())] == [
        int(row["row"]) for row in queue
    ]


def test_vectors_are_not_reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_vectors().stored.save(tmp_path / "model")
    words = ["review", str(tmp_path / "model"), str(tmp_path / "new.npz"), "--output", str(tmp_path / "queue.csv")]
    assert run(words) == 2
    assert "expected a model of texts or images, the queue has no vectors" in capsys.readouterr().err


def test_corrections_are_learned_from_by_train_and_extend(folder: Path, tmp_path: Path) -> None:
    words = [f"zebra stripes {number}" for number in range(20)]
    decisions = [{"text": text, "decision": "node", "node": "vehicle > car", "who": "ann"} for text in words]
    corrections = tmp_path / "corrections.jsonl"
    corrections.write_text("".join(json.dumps(each) + "\n" for each in decisions))
    data, tree = str(folder / "rows.csv"), str(folder / "tree.csv")
    known = Record.read(folder / "model").data["sizes"]
    common = [data, "--taxonomy", tree, "--corrections", str(corrections)]
    assert run(["train", *common, "--method", "tree-logistic", "--out", str(tmp_path / "trained")]) == 0
    sizes = Record.read(tmp_path / "trained").data["sizes"]
    assert sizes == {**known, "train": known["train"] + 20}
    assert run(["extend", str(folder / "model"), *common, "--out", str(tmp_path / "extended")]) == 0
    (tmp_path / "new.csv").write_text("text\nzebra stripes\n")
    for name in ("trained", "extended"):
        out = tmp_path / f"{name}.json"
        assert run(["predict", str(tmp_path / name), str(tmp_path / "new.csv"), "--output", str(out)]) == 0
        assert json.loads(out.read_text())[0]["class"] == "car"


def test_suspects_are_the_labels_that_were_changed(folder: Path, tmp_path: Path) -> None:
    rows = texts_of(360)
    wrong = {10: "car", 101: "cat"}
    labelled = [(text, wrong.get(row, name)) for row, (text, name) in enumerate(rows)]
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *labelled])
    out = tmp_path / "suspects.csv"
    assert run(["review", str(folder / "model"), str(tmp_path / "rows.csv"), "--suspects", "--output", str(out)]) == 0
    found = cells(out)
    assert {each["text"] for each in found[:2]} == {rows[row][0] for row in wrong}
    assert [float(row["probability"]) for row in found] == sorted(float(row["probability"]) for row in found)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["--strategy", "luck"], "--strategy luck: expected one of margin"), (["--for", "x"], "--for x: expected one of")],
)
def test_wrong_usage_is_one_sentence(
    folder: Path, tmp_path: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["review", str(folder / "model"), str(folder / "rows.csv"), "--output", str(tmp_path / "q.csv")]
    assert run([*command, *words]) == 2
    assert sentence in capsys.readouterr().err
