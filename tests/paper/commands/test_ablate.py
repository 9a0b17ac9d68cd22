"""`hiercos ablate` as a user meets it."""

import json
from pathlib import Path

import pytest

from blobs import written_cloud
from hiercos.cli.app import run
from trees import TOY


def test_an_ablation_leaves_its_tables_and_trains_each_setting_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ablate", *written_cloud(tmp_path, TOY, 120)]
    arguments += ["--out", str(tmp_path / "out"), "--axes", "span,exponent", "--seeds", "2", "--set", "width=8"]
    assert run([*arguments, "--epochs", "1", "--device", "cpu"]) == 0
    out, err = capsys.readouterr()
    assert "span: mean ± half of its 95% interval" in out
    assert "exponent: differences to 2 (published), seed by seed" in out
    assert "hier-cos,exponent=1 seed 1, all samples: epoch 1/1" in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"runs", "results.csv", "results.json", "report.html"}
    records = [json.loads(path.read_text()) for path in (tmp_path / "out").rglob("record.json")]
    assert [record["config"]["options"]["alpha"] for record in records] == [0.05] * 4  # whatever suits the taxonomy
    rows = json.loads((tmp_path / "out" / "results.json").read_text())["rows"]
    assert len(rows) == 12
    assert all(0 < row["subspace_cosine"] <= 1 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--axes", "alhpa"], "unknown axis 'alhpa'; did you mean 'alpha'?"),
        (["--format", "xml"], "--format xml"),
    ],
)
def test_wrong_options_are_refused_before_any_work(
    arguments: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ablate", "icd10cm:9", "--out", str(tmp_path / "out"), *arguments]) == 2
    assert expected in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
