"""What a command looks at before it does any work."""

import subprocess
import sys
from pathlib import Path

import pytest

from hiercos.cli.app import run
from hiercos.cli.options.common import check_target
from hiercos.cli.options.groups import OptionError

UNWRITABLE = Path("/proc")  # for anybody, on Linux
NOT_THE_FOLDER = "expected the folder that hiercos train wrote, from which an .onnx file was exported, this is a file"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["export", "none", "--onnx", "m.onnx"],
            "none: there is no such folder; expected one that hiercos train wrote",
        ),
        (["evaluate", "none", "d.npz"], "none: there is no such folder; expected one that hiercos train wrote"),
        (["evaluate", "made.onnx", "d.npz"], f"made.onnx: {NOT_THE_FOLDER}"),
        (["export", "made.onnx", "--onnx", "m.onnx"], f"made.onnx: {NOT_THE_FOLDER}"),
        (["predict", "d.csv", "-"], "d.csv: expected the folder that hiercos train wrote, this is a file"),
        (["predict", "m", "-", "--output", "none/o.csv"], "--output none/o.csv: there is no folder none"),
        (["predict", "m", "-", "--output", "m.csv"], "--output m.csv: expected the name of a file, this is a folder"),
        (
            ["predict", "m", "-", "--output", "out.foo"],
            "--output out.foo: expected a name that ends in one of .csv, .json, .parquet, .tex, .md, "
            "or --format with it",
        ),
    ],
)
def test_wrong_places_are_one_sentence(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("made.onnx").touch()
    Path("d.csv").touch()
    Path("m.csv").mkdir()
    assert run(arguments) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert {path.name for path in tmp_path.iterdir()} == {"made.onnx", "d.csv", "m.csv"}


@pytest.mark.skipif(not UNWRITABLE.is_dir(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_is_found_before_the_work() -> None:
    with pytest.raises(OptionError, match=r"^--output /proc/out.csv: nothing can be written to /proc \(.+\)$"):
        check_target("--output", UNWRITABLE / "out.csv")


def test_a_file_that_can_be_written_leaves_no_trace_of_the_trial(tmp_path: Path) -> None:
    check_target("--output", tmp_path / "out.csv")
    check_target("--output", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "m", "in.csv", "--output", "in.csv"],
        ["predict", "m", "in.csv", "--output", "link.csv"],
        ["predict", "m", "in.csv", "--output", "hard.csv"],
        ["predict", "m", "in.csv", "--output", "m/config.json"],
        ["evaluate", "m", "in.csv", "--output", "in.csv"],
        ["evaluate", "--scores", "in.csv", "--taxonomy", "in.csv", "--output", "in.csv"],
        ["taxonomy", "convert", "in.csv", "in.csv"],
    ],
)
def test_an_input_is_never_replaced(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("parent,child\n,a\n")
    Path("link.csv").symlink_to("in.csv")
    Path("hard.csv").hardlink_to("in.csv")
    Path("m").mkdir()
    Path("m/config.json").write_text("{}")
    assert run(arguments) == 2
    assert "this is an input of the command" in capsys.readouterr().err
    assert Path("in.csv").read_text() == "parent,child\n,a\n"
    assert Path("m/config.json").read_text() == "{}"


def test_a_name_that_is_too_long_is_found_before_the_work(tmp_path: Path) -> None:
    name = tmp_path / f"{'n' * 300}.csv"
    with pytest.raises(OptionError, match=r"--output .*n\.csv: nothing can be written to .*too long"):
        check_target("--output", name)


def test_a_missing_model_is_found_without_torch() -> None:
    code = (
        "import sys; from hiercos.cli.app import run; "
        "codes = [run(['predict', 'none', '-']), run(['export', 'none', '--onnx', 'm.onnx']), "
        "run(['evaluate', 'none', 'd.npz'])]; sys.exit('torch' in sys.modules or codes != [2, 2, 2])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
