"""The verdict of `hiercos compare` on real texts, and on runs that have stored no held-out scores."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from docstrings import docstring_data
from hiercos.cli.app import run
from hiercos.model import Classifier
from hiercos.records import Record


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of docstrings, labelled with the path of their module."""
    data, table = docstring_data(), tmp_path_factory.mktemp("library") / "texts.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(
            (text, data.taxonomy.path_text(int(node))) for text, node in zip(data.inputs, data.nodes, strict=True)
        )
    return table


def compared(table: Path, folder: Path, *options: str) -> dict[str, Any]:
    quick = ["--rules", "none,crm", "--epochs", "3", "--device", "cpu", "--out", str(folder / "out")]
    assert run(["compare", str(table), *quick, *options]) == 0
    values: dict[str, Any] = json.loads((folder / "out" / "results.json").read_text(encoding="utf-8"))
    return values


def test_on_docstrings_no_other_variant_is_better_in_every_column(library: Path, tmp_path: Path) -> None:
    methods = ["--methods", "cross-entropy,tree-logistic,hier-cos", "--seeds", "2", "--ship", str(tmp_path / "model")]
    values = compared(library, tmp_path, *methods)
    table = {
        each["name"]: [
            sign * each[name]["mean"] for name, sign in (("top1", -1), ("ahd_at_1", 1), ("hops", -1), ("log_loss", 1))
        ]
        for each in values["tables"][0]["variants"]
    }
    shipped = table[values["recommended"]]
    assert not [name for name, own in table.items() if all(a < b for a, b in zip(own, shipped, strict=True))]
    assert shipped[1] < min(own[1] for own in table.values()) + 0.1
    (ship,) = [each for each in values["statements"] if each["kind"] == "ship"]
    seed = values["recommended_seed"]
    assert ship["subject"] == f"Ship {values['recommended']}, the model of seed {seed}"
    assert " validation rows (few; --folds 5 lets all training rows choose); " in ship["reason"]
    assert Record.read(tmp_path / "model").seed == seed
    assert Classifier.load(tmp_path / "model").model.method == values["recommended"].partition(" + ")[0]


def test_test_rows_decide_where_a_run_has_too_few_rows_to_hold_some_out(tmp_path: Path) -> None:
    rows = [("a cat", "pet > cat"), ("a dog", "pet > dog"), ("a car", "vehicle > car")]
    with (tmp_path / "texts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        writer.writerows(
            (f"{text} {word}", label, split) for split, words in WORDS.items() for text, label in rows for word in words
        )
    values = compared(tmp_path / "texts.csv", tmp_path, "--methods", "cross-entropy,hier-cos", "--seeds", "1")
    reason = next(each["reason"] for each in values["statements"] if each["kind"] == "ship")
    assert reason.startswith(
        "It was chosen by mean tree distance on the test rows themselves, which flatters it, because a run has "
    )


WORDS = {"train": ("on the road", "in a park", "at home"), "test": ("by day", "by night")}


def test_an_unknown_purpose_is_refused_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "no.csv", "--out", str(tmp_path / "out"), "--ship-for", "speed"]) == 2
    assert "--ship-for speed: expected distance, top1, hops" in capsys.readouterr().err
