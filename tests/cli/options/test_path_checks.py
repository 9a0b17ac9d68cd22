"""What a command looks at before it does any work."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from hiercos.cli.app import run
from hiercos.cli.commands import COMMANDS
from hiercos.cli.options.common import check_target
from hiercos.cli.options.groups import OptionError
from hiercos.cli.options.replacements import FILE_TARGETS, FOLDER_TARGETS, replacement_fault
from hiercos.storage import commit

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
        ["predict", "m", "d.npz", "--allow", "in.csv", "--output", "in.csv"],
        ["predict", "m", "d.npz", "--deny", "in.csv", "--output", "in.csv"],
        ["predict", "m", "d.npz", "--costs", "in.csv", "--output", "in.csv"],
        ["predict", "m", "d.npz", "--row-prior", "in.csv", "--output", "in.csv"],
        ["predict", "m", "d.npz", "--format", "csv", "--output", "m/scores.npz"],
        ["predict", "m", "d.npz", "--output", "m/log.csv"],
        ["predict", "images", "images", "--format", "csv", "--output", "images/a.jpg"],
        ["evaluate", "m", "in.csv", "--curve", "in.csv"],
        ["evaluate", "m", "in.html", "--curve", "in.txt"],
        ["evaluate", "m", "d.npz", "--allow", "in.csv", "--output", "in.csv"],
        ["embed", "d.npz", "--output", "d.npz"],
        ["report", "c", "--output", "c/results.csv"],
        ["report", "c", "--output", "c/runs/record.json"],
        ["train", "in.csv", "--taxonomy", "taxonomy.json", "--out", "."],
        ["compare", "results.csv", "--out", "."],
    ],
)
def test_an_input_is_never_replaced(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("parent,child\n,a\n")
    Path("link.csv").symlink_to("in.csv")
    Path("hard.csv").hardlink_to("in.csv")
    for folder in ("m", "images", "c/runs"):
        Path(folder).mkdir(parents=True)
    others = ["d.npz", "in.html", "taxonomy.json", "results.csv", "images/a.jpg", "c/results.csv", "c/runs/record.json"]
    for name in [*others, "m/config.json", "m/scores.npz", "m/log.csv"]:
        Path(name).write_text("{}")
    before = {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()}
    assert run(arguments) == 2
    assert "this is an input of the command" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()} == before


def test_a_file_of_a_model_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(tmp_path, {"record.json": "{}"}, {})
    for name in ("record.json", "config.json"):
        before = (tmp_path / name).read_bytes()
        assert run(["predict", "m", "in.csv", "--output", str(tmp_path / name)]) == 2
        assert "this is a file of a model" in capsys.readouterr().err
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("others", [["--output", "c.csv"], []])
def test_two_outputs_are_two_files(others: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "m", "d.npz", "--curve", "c.csv" if others else "c.html", *others]) == 2
    assert "expected another file for each output" in capsys.readouterr().err


def commands() -> list[Callable[..., None]]:
    """The functions of all commands."""
    taxonomy = [info.callback for info in COMMANDS["taxonomy"].registered_commands]
    return [*(command for name, command in COMMANDS.items() if name != "taxonomy"), *taxonomy]


def test_every_path_of_a_command_is_known_as_input_or_output() -> None:
    """A new parameter for an output must join `FILE_TARGETS`: any other is taken for an input."""
    inputs = {"allow", "deny", "costs", "row_prior", "root", "taxonomy", "model", "labels", "scores", "against"}
    inputs |= {"folder", "classes", "data", "crosswalk", "map_file", "corrections"}
    found = {
        parameter.name
        for command in commands()
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if "Path" in str(parameter.annotation)
    }
    assert found == inputs | {*FILE_TARGETS, *FOLDER_TARGETS}


def test_every_command_with_an_output_checks_what_it_would_replace() -> None:
    for command in commands():
        if {*FILE_TARGETS, *FOLDER_TARGETS} & inspect.signature(command).parameters.keys():
            assert command.__name__ == command.__wrapped__.__name__, f"{command.__name__} needs the decorator grouped"


@pytest.mark.parametrize("ending", [".html", ".csv"])
def test_outputs_beside_a_long_name_are_tried_before_the_work(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = tmp_path / f"{'n' * (250 if ending == '.html' else 251)}{ending}"
    figures = ["report", str(tmp_path), "--output", str(name), "--figures"]
    assert run(figures if ending == ".html" else ["evaluate", "m", "d.npz", "--curve", str(name)]) == 2
    assert "too long" in capsys.readouterr().err


def test_another_program_s_configuration_and_long_texts_are_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"name": "a web application"}')
    (tmp_path / "csv").touch()
    for output in ("config.json", "answers.csv", "csv"):
        values = {"output": tmp_path / output, "format": "csv", "methods": "hier-cos," * 100, "inputs": "new.csv"}
        assert replacement_fault(values) is None
