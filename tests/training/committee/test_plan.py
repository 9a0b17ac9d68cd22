"""Plans of the default's training: efforts for a time, and memory that is not there."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from blobs import written_cloud
from hiercos.cli.app import run
from hiercos.methods import LabelledFeatures
from hiercos.records import Record
from hiercos.training import SettingsError
from hiercos.training.committee.plan import check_memory, expected_members, planned_effort, seconds_of
from solving import data
from trees import TOY17


def test_a_longer_time_allows_a_higher_effort_and_more_members() -> None:
    train = data(TOY17, 2000)
    sparse = LabelledFeatures(csr_matrix(np.maximum(train.features, 0)), train.labels)
    for rows in (train, sparse):
        expected = {effort: expected_members(rows, TOY17, effort) for effort in ("quick", "normal", "best")}
        totals = [sum(each.seconds for each in members) for members in expected.values()]
        assert 0 < totals[0] <= totals[1] < totals[2]
        for effort, total in zip(expected, totals, strict=True):
            names = [*expected]
            assert names.index(planned_effort(rows, TOY17, 1.01 * total)[0]) >= names.index(effort)
        chosen, lines = planned_effort(rows, TOY17, totals[0] / 2)
        assert chosen == "quick"
        assert lines[1].startswith("No effort is expected to end in")


def test_times_are_read_and_others_refused() -> None:
    assert [seconds_of(text) for text in ("60s", "1.5m", "2h")] == [60, 90, 7200]
    for text in ("60", "0s", "soon"):
        with pytest.raises(SettingsError, match=f"time {text}: expected a time above 0 such as 60s, 5m or 1h"):
            seconds_of(text)


def test_what_does_not_fit_in_memory_is_refused() -> None:
    members = expected_members(data(TOY17, 2000), TOY17, "best")
    with pytest.raises(SettingsError, match=r"tree-logistic: expected to need .* MB of memory, and 0 MB are left"):
        check_memory(members, available=0)


def test_the_effort_of_a_plan_trains_the_same_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", *written_cloud(tmp_path, TOY17, 510), "--no-test", "--device", "cpu", "--out"]
    assert run([*command, str(tmp_path / "timed"), "--time", "0.001s"]) == 0
    assert "effort quick, expected" in capsys.readouterr().err
    assert run([*command, str(tmp_path / "quick"), "--effort", "quick"]) == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("timed", "quick")]
    assert weights[0] == weights[1]
    assert Record.read(tmp_path / "timed", "auto").config == Record.read(tmp_path / "quick", "auto").config
    assert run([*command, str(tmp_path / "other"), "--time", "5m", "--effort", "best"]) == 2
