import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hiercos import storage
from hiercos.records import (
    RECORD_FILE,
    RULE_SCHEMA,
    SCHEMA,
    Record,
    RecordError,
    RunError,
    holds_finished_run,
    read_records,
    records_json,
    refuse_finished_run,
)
from records import record


def committed(folder: Path, *records: Record) -> Path:
    """A folder of records."""
    storage.commit(folder, {RECORD_FILE: records_json(records)}, {})
    return folder


def test_records_read_back_as_they_were_written_and_nan_becomes_null(tmp_path: Path) -> None:
    before = [record(mistake_severity=math.nan, top1=1.0), replace(record(rule="crm", top1=0.5), temperature=2.0)]
    after = read_records(committed(tmp_path, *before))
    assert list(after.values()) == before
    assert math.isnan(Record.read(tmp_path).metrics["mistake_severity"])
    assert "NaN" not in (tmp_path / RECORD_FILE).read_text()
    assert Record.find(tmp_path, "crm") == before[1]
    assert Record.find(tmp_path, "hops") is None
    with pytest.raises(RecordError, match=r"record\.json: there is no record under the rule 'hops'"):
        Record.read(tmp_path, "hops")


def test_a_record_joins_those_of_other_rules_or_replaces_its_own(tmp_path: Path) -> None:
    committed(tmp_path, record(rule="crm"))
    record(top1=0.25).write(tmp_path)
    record(rule="crm", top1=0.75).write(tmp_path)
    assert {rule: each.metrics["top1"] for rule, each in read_records(tmp_path).items()} == {"none": 0.25, "crm": 0.75}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metrics": {}}', '{"metrics": 3}', "no rules", "a wrong rule"])
def test_what_is_not_a_record_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    values = json.loads(records_json([record()]))
    changed = {"no rules": {**values, "rules": 3}, "a wrong rule": {**values, "rules": {"none": {"metrics": "x"}}}}
    storage.commit(tmp_path, {RECORD_FILE: json.dumps(changed[text]) if text in changed else text}, {})
    with pytest.raises(RecordError, match=r"record\.json: (not a record|not JSON|expected an object)"):
        Record.read(tmp_path)


def test_the_identity_of_a_run_changes_with_data_and_settings() -> None:
    first, other_seed = record(seed=0), record(seed=1)
    assert first.identity == record(seed=0, top1=0.9).identity
    assert first.identity != other_seed.identity


def test_a_record_says_how_its_settings_were_searched(tmp_path: Path) -> None:
    tuning = {"budget": 2, "criterion": "hops", "chosen": 1, "trials": [{"number": 0, "hops": None}]}
    assert Record.read(committed(tmp_path, replace(record(), tuning=tuning))).tuning == tuning


def test_records_with_the_same_undefined_metric_are_equal(tmp_path: Path) -> None:
    before = record(log_loss=math.nan)
    assert Record.read(committed(tmp_path, before)) == before
    assert before != record(log_loss=0.5)
    assert before != "a record"


def test_a_run_is_finished_only_with_the_configuration_that_is_written_last(tmp_path: Path) -> None:
    storage.write(tmp_path / RECORD_FILE, records_json([record()]))
    refuse_finished_run(tmp_path)
    assert not holds_finished_run(tmp_path)
    storage.commit(tmp_path, {}, {})
    assert not holds_finished_run(tmp_path)  # a model without the record of a run
    committed(tmp_path, record())
    assert holds_finished_run(tmp_path)
    with pytest.raises(RunError, match="already holds a finished run; choose another folder"):
        refuse_finished_run(tmp_path)


def test_the_schema_has_every_field_of_a_record() -> None:
    assert {*SCHEMA, *RULE_SCHEMA, "rule"} == {field.name for field in fields(Record)}


@pytest.mark.parametrize(
    ("config", "choice", "epochs"),
    [({}, "", 1), ({"epochs": 1}, "", 1), ({"epochs": 2}, "", math.nan), ({}, "took 3 members", math.nan)],
)
def test_the_epochs_of_a_record_need_no_setting(config: dict[str, int], choice: str, epochs: float) -> None:
    only = {"number": 1, "loss": 0.5, "top1": 0.5, "hops": 0.5, "seconds": 1.0}
    assert replace(record(), config=config, choice=choice, history=[only]).epochs == pytest.approx(epochs, nan_ok=True)
