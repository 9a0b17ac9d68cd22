import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hiercos.manifest import committed
from hiercos.records import SCHEMA, Record, RecordError, RunError, holds_finished_run, refuse_finished_run
from records import record


def test_a_record_reads_back_as_it_was_written_and_nan_becomes_null(tmp_path: Path) -> None:
    before = record(mistake_severity=math.nan, top1=1.0)
    before.write(tmp_path)
    after = Record.read(tmp_path)
    assert math.isnan(after.metrics["mistake_severity"])
    assert "NaN" not in (tmp_path / "record.json").read_text()
    assert {**after.metrics, "mistake_severity": 0} == {**before.metrics, "mistake_severity": 0}
    assert after.identity == before.identity


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metrics": {}}', '{"metrics": 3}'])
def test_what_is_not_a_record_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(RecordError, match=r"record\.json: (not a record|not JSON|expected an object)"):
        Record.read(tmp_path)


def test_the_identity_of_a_run_changes_with_data_and_settings() -> None:
    first, other_seed = record(seed=0), record(seed=1)
    assert first.identity == record(seed=0, top1=0.9).identity
    assert first.identity != other_seed.identity


def test_a_record_says_how_its_settings_were_searched_and_older_ones_say_nothing(tmp_path: Path) -> None:
    tuning = {"budget": 2, "criterion": "hops", "chosen": 1, "trials": [{"number": 0, "hops": None}]}
    replace(record(), tuning=tuning).write(tmp_path)
    assert Record.read(tmp_path).tuning == tuning
    values = json.loads((tmp_path / "record.json").read_text())
    del values["tuning"]
    (tmp_path / "record.json").write_text(json.dumps(values))
    assert Record.read(tmp_path).tuning is None


def test_records_with_the_same_undefined_metric_are_equal(tmp_path: Path) -> None:
    before = record(log_loss=math.nan)
    before.write(tmp_path)
    assert Record.read(tmp_path) == before
    assert before != record(log_loss=0.5)
    assert before != "a record"


def test_a_run_is_finished_only_with_the_manifest_that_is_written_last(tmp_path: Path) -> None:
    record().write(tmp_path)
    refuse_finished_run(tmp_path)
    assert not holds_finished_run(tmp_path)
    (tmp_path / "config.json").write_text('{"version": 5}')
    assert not holds_finished_run(tmp_path)
    with committed(tmp_path) as write:
        write("record.json", record().to_json())
        assert not holds_finished_run(tmp_path)
    assert holds_finished_run(tmp_path)
    with pytest.raises(RunError, match="already holds a finished run; choose another folder"):
        refuse_finished_run(tmp_path)


def test_a_run_of_a_version_without_manifests_is_finished_with_its_configuration(tmp_path: Path) -> None:
    record().write(tmp_path)
    (tmp_path / "config.json").write_text('{"version": 4}')
    assert holds_finished_run(tmp_path)


def test_the_schema_has_every_field_of_a_record() -> None:
    assert SCHEMA.keys() == {field.name for field in fields(Record)}


@pytest.mark.parametrize(
    ("config", "choice", "epochs"),
    [({}, "", 1), ({"epochs": 1}, "", 1), ({"epochs": 2}, "", math.nan), ({}, "took 3 members", math.nan)],
)
def test_the_epochs_of_a_record_need_no_setting(config: dict[str, int], choice: str, epochs: float) -> None:
    only = {"number": 1, "loss": 0.5, "top1": 0.5, "hops": 0.5, "seconds": 1.0}
    assert replace(record(), config=config, choice=choice, history=[only]).epochs == pytest.approx(epochs, nan_ok=True)
