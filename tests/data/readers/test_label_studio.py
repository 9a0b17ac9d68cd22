"""Exports of Label Studio, as its program and its converter write them."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from hiercos.data import load_dataset, read_inputs
from hiercos.errors import DataError
from trees import TOY


def annotation(*paths: list[str], **others: Any) -> dict[str, Any]:
    result = {"from_name": "taxonomy", "to_name": "text", "type": "taxonomy", "value": {"taxonomy": [*paths]}}
    return {"id": 7, "result": [result] if paths else [], "was_cancelled": False, **others}


TASKS = [
    {"id": 1, "data": {"row": 4, "text": "furry"}, "annotations": [annotation(["pet", "cat"])], "predictions": []},
    {"id": 2, "data": {"row": 5, "text": "metal"}, "annotations": [annotation(["vehicle"])]},
    {"id": 3, "data": {"row": 6, "text": "skipped"}, "annotations": [annotation(["pet"], was_cancelled=True)]},
    {"id": 4, "data": {"row": 7, "text": "barking"}, "annotations": [annotation(["pet", "dog"]), annotation()]},
]
VALUES = [
    {"text": "furry", "taxonomy": [{"taxonomy": [["pet", "cat"]]}]},
    {"text": "metal", "taxonomy": [{"taxonomy": [["vehicle"]]}]},
]


def written(path: Path, tasks: object) -> Path:
    path.write_text(json.dumps(tasks))
    return path


def test_the_tasks_are_rows_with_the_path_of_each_annotation(tmp_path: Path) -> None:
    path = written(tmp_path / "export.json", TASKS)
    options = {"taxonomy": TOY, "label_column": "taxonomy", "test": False, "purpose": "extend"}
    with pytest.raises(DataError, match="row 3"):
        load_dataset(path, **options)
    data = load_dataset(path, on_error="skip", **options)
    assert data.inputs.values(range(3)) == ["furry", "metal", "barking"]
    assert [TOY.names[node] for node in data.nodes] == ["cat", "vehicle", "dog"]
    assert [*read_inputs(path, kind="texts").whole().inputs] == ["furry", "metal", "skipped", "barking", "barking"]


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_the_short_forms_have_the_same_labels(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "export.json", VALUES)
    if suffix == "csv":
        path = tmp_path / "export.csv"
        with path.open("w", newline="") as file:
            rows = [[each["text"], json.dumps(each["taxonomy"])] for each in VALUES]
            csv.writer(file).writerows([["text", "taxonomy"], *rows])
    data = load_dataset(path, taxonomy=TOY, label_column="taxonomy", test=False, purpose="extend")
    assert [TOY.names[node] for node in data.nodes] == ["cat", "vehicle"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "export.json: expected an export of Label Studio, a JSON list"),
        ("[5]", "export.json: row 1: expected a task of Label Studio, got 5"),
        ('[{"data": {}}, {"data": [1]}]', "export.json: row 2: expected a task of Label Studio"),
        ('[{"data": {}, "annotations": [{}]}]', "export.json: row 1: expected a task of Label Studio"),
        ("[]", "export.json: expected"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "export.json").write_text(content)
    with pytest.raises(DataError) as error:
        load_dataset(tmp_path / "export.json", taxonomy=TOY, label_column="taxonomy")
    assert sentence in str(error.value)
