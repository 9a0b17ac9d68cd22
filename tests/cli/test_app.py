"""The command line as a user meets it."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blobs import cloud
from hiercos.cli.app import run
from hiercos.cli.commands import COMMANDS
from hiercos.cli.options.training import ModelOptions, TrainingOptions
from hiercos.records import Record
from hiercos.training import Settings
from trees import TOY17

DATA = "DATA"  # stands for the vectors of these tests and their tree
FAST = ["--epochs", "2", "--device", "cpu"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    TOY17.write(folder / "tree.csv")
    features, labels = cloud(TOY17, 340)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())
    return folder


def command(name: str, data: Path, out: Path, *options: str) -> list[str]:
    """Words of a command that trains on the vectors."""
    return [name, str(data / "data.npz"), "--taxonomy", str(data / "tree.csv"), "--out", str(out), *options]


@pytest.fixture(scope="module")
def model(data: Path) -> Path:
    assert run(command("train", data, data / "model", *FAST)) == 0
    return data / "model"


def without_torch(lines: list[list[str]], folder: Path) -> list[tuple[int, str, str]]:
    """Exit codes, outputs and messages of commands, in turn in one process that has not imported torch in the end."""
    code = (
        "import contextlib, io, json, sys\nfrom hiercos.cli.app import run\nresults = []\n"
        f"for arguments in {lines!r}:\n"
        "    out, err = io.StringIO(), io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):\n"
        "        results.append((run(arguments), out.getvalue(), err.getvalue()))\n"
        "print(json.dumps(results))\nsys.exit('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=folder, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [(code, out, err) for code, out, err in json.loads(result.stdout)]


def test_help_answers_without_importing_torch(tmp_path: Path) -> None:
    lines = [["--help"], *([command, "--help"] for command in COMMANDS)]
    for (code, out, _), arguments in zip(without_torch(lines, tmp_path), lines, strict=True):
        assert (code, "Usage" in out) == (0, True), arguments


def test_the_help_of_train_is_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "--help"]) == 0
    groups = re.split(r"╭─ (.*?) ─", capsys.readouterr().out)
    found = {name: set(re.findall(r"--[a-z-]+", text)) for name, text in zip(groups[1::2], groups[2::2], strict=True)}
    assert list(found) == ["Arguments", "Options", "Training", "Data", "Device", "Backbone"]
    assert {"--out", "--resume"} <= found["Options"]
    assert {"--method", "--seed", "--set"} <= found["Training"]
    assert {"--label-column", "--taxonomy"} <= found["Data"]
    assert "--unfreeze" in found["Backbone"]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["train", "--bogus"], "hiercos train"),
        (["taxonomy", "show"], "hiercos taxonomy show"),
        (["xyzzy"], "hiercos"),
    ],
)
def test_wrong_usage_names_the_help_of_the_command(
    arguments: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().err.endswith(f"; see {command} --help\n")


def test_the_help_of_a_misspelt_command_is_a_sentence_after_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trian"]) == 2
    assert capsys.readouterr().err == "error: No such command 'trian'. Did you mean 'train'? See hiercos --help.\n"


def test_compare_leaves_results_and_report_and_says_what_the_hierarchy_bought(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variants = ["--methods", "cross-entropy,hier-cos", "--rules", "none,crm@cross-entropy", "--seeds", "2"]
    assert run(command("compare", data, tmp_path / "out", *variants, *FAST)) == 0
    out, err = capsys.readouterr()
    assert "All columns: " in out
    assert "\nShip " in out
    assert "epoch 2/2" in err
    assert "has no split" in err
    rows = (tmp_path / "out" / "results.csv").read_text().splitlines()
    assert [row.split(",")[:3] for row in rows[1:]] == [
        ["cross-entropy", "none", "0"],
        ["cross-entropy", "none", "1"],
        ["cross-entropy", "crm", "0"],
        ["cross-entropy", "crm", "1"],
        ["hier-cos", "none", "0"],
        ["hier-cos", "none", "1"],
    ]
    assert (tmp_path / "out" / "report.html").exists()


def test_results_go_to_standard_output_alone_in_the_form_asked_for(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = command("compare", data, tmp_path, "--methods", "cross-entropy", "--seeds", "1", *FAST)
    for form in ("json", "csv"):
        assert run([*arguments, "--format", form]) == 0
        assert capsys.readouterr().out == (tmp_path / f"results.{form}").read_text()
    for form, start in {"markdown": "|", "latex": "\\begin"}.items():
        assert run([*arguments, "--format", form]) == 0
        assert start in capsys.readouterr().out
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [(row["method"], row["rule"]) for row in rows] == [("cross-entropy", "none"), ("cross-entropy", "crm")]
    assert run([*arguments, "--format", "parquet"]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "results.parquet").exists()


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "table"])
@pytest.mark.parametrize("named", [True, False])
def test_predictions_go_to_a_file_in_any_format(
    model: Path, data: Path, tmp_path: Path, format: str, named: bool
) -> None:
    output = tmp_path / f"out.{format}"
    choice = ["--format", format] if named else []  # otherwise the extension says it
    assert run(["predict", str(model), str(data / "data.npz"), *choice, "--output", str(output)]) == 0
    if format == "json":
        assert len(json.loads(output.read_text())) == 340
    if format == "parquet":
        from pyarrow import parquet

        assert parquet.read_table(output).num_rows == 340
    assert output.stat().st_size > 1000


def test_evaluate_finds_the_figures_of_the_record(
    model: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from hiercos.data import load_dataset

    dataset = load_dataset(data / "data.npz", taxonomy=data / "tree.csv")
    rows = dataset.rows("test")
    np.savez(tmp_path / "test.npz", features=np.asarray(dataset.inputs)[rows], labels=dataset.labels[rows])
    capsys.readouterr()
    assert run(["evaluate", str(model), str(tmp_path / "test.npz"), "--format", "json"]) == 0
    metrics = {row["metric"]: row["value"] for row in json.loads(capsys.readouterr().out) if row["value"] is not None}
    recorded = {name: value for name, value in Record.read(model, "auto").metrics.items() if not math.isnan(value)}
    assert metrics == pytest.approx(recorded)
    assert run(["evaluate", str(model), str(tmp_path / "test.npz"), "--by", "level"]) == 0
    assert "(all)" in capsys.readouterr().out


def test_a_comparison_of_fewer_methods_says_what_it_leaves_out(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for methods in ("cross-entropy,hxe", "cross-entropy"):
        assert run(command("compare", data, tmp_path, "--methods", methods, "--seeds", "1", *FAST)) == 0
    assert "Earlier runs of hxe" in capsys.readouterr().err


def settings(*given: str) -> Settings:
    return ModelOptions(set_=list(given), method="hier-cos").settings("32-true").resolved(10_000)


def test_methods_have_the_same_body_unless_they_are_taken_as_published() -> None:
    usual = {"width": 512, "dropout": 0.1, "reading": "shares", "alpha": 0.0}
    assert dict(settings().options) == usual
    assert dict(settings("published=true").options) == {}
    assert dict(settings("width=64", "alpha=0.5").options) == {**usual, "width": 64, "alpha": 0.5}


def test_options_that_are_not_given_are_left_to_the_training() -> None:
    assert ModelOptions().settings("32-true") == Settings()


def test_each_compared_method_takes_the_options_that_it_has() -> None:
    found = TrainingOptions(set_=["alpha=0.5", "dim=64"]).settings_of(["hier-cos", "cross-entropy"], "32-true")
    assert [dict(each.options) for each in found.values()] == [{"alpha": 0.5}, {}]
    assert [each.dim for each in found.values()] == [64, 64]


@pytest.mark.parametrize(
    ("command", "trained"),
    [
        (["train", "--method", "tree-logistic"], "tree-logistic"),
        (["compare", "--methods", "cross-entropy,hier-cos"], "cross-entropy"),
        (["ablate", "--axes", "alpha"], "hier-cos"),
    ],
)
def test_an_effort_that_no_trained_method_has_is_refused(
    command: list[str], trained: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [command[0], str(data / "data.npz"), "--taxonomy", str(data / "tree.csv"), *command[1:]]
    assert run([*given, "--effort", "quick", "--out", str(tmp_path / "out")]) == 2
    told = f"error: effort quick: method {trained!r} has no effort; methods that have one: committee\n"
    assert capsys.readouterr().err == told


def test_train_says_that_the_test_rows_are_few(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command("train", data, tmp_path / "tested", "--method", "gaussian")) == 0
    assert re.search(
        r"^Few test rows: over \d\d of them the 95% interval of its top-1 is \d+\.\d% to \d+\.\d%; smaller differences "
        r"need more rows\.$",
        capsys.readouterr().err,
        flags=re.MULTILINE,
    )
    assert run(command("train", data, tmp_path / "untested", "--method", "gaussian", "--no-test")) == 0
    assert "Few test rows" not in capsys.readouterr().err


def test_methods_and_data_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods"]) == run(["data"]) == 0
    out = capsys.readouterr().out
    assert "hier-cos\n" in out
    assert "hiercos methods NAME shows the options" in out
    assert "icd10cm (present)" in out


def test_one_method_is_shown_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods", "hier-cos"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hier-cos\n")
    assert "haframe" not in out
    lines = [line.strip() for line in out.splitlines()]
    assert "alpha=0.05 (hiercos train: 0.0)" in lines
    assert "reading=magnitudes (hiercos train: shares)" in lines
    assert "labels at inner nodes:         yes" in lines
    assert run(["methods", "soft-labels"]) == 0
    assert "labels at inner nodes:         no" in capsys.readouterr().out
    for name, answer in (("path-softmax", "yes"), ("committee", "with a memory"), ("haframe", "no")):
        assert run(["methods", name]) == 0
        assert f"new classes by hiercos extend: {answer}\n" in capsys.readouterr().out
    assert run(["methods", "hiercos"]) == 2
    assert "did you mean 'hier-cos'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["train", DATA, "--out", "m", "--set", "epochs=3"], "--set epochs=3: expected --epochs 3 instead"),
        (["train", DATA, "--out", "m", "--set", "patience=x"], "patience: expected an integer or none, got 'x'"),
        (["train", DATA, "--out", "m", "--set", "from_scrach=true"], "did you mean 'from_scratch'"),
        (["train", DATA, "--out", "m", "--set", "backbone.size=8"], "backbone.size: expected the name of a backbone"),
        (["compare", DATA, "--out", "m", "--set", "widht=8"], "did you mean 'width'"),
        (["train", DATA, "--out", "m", "--set", "optimizer=adam"], "optimizer"),
        (["train", DATA, "--out", "m", "--set", "alpha=abc"], "alpha"),
        (["train", DATA, "--out", "m", "--method", "hier-cos", "--set", "basis=foo"], "basis"),
        (["train", DATA, "--out", "m", "--set", "width=0"], "width"),
        (["train", DATA, "--out", "m", "--batch-size", "1"], "batch_size of at least 2, got 1"),
        (["train", DATA, "--out", "m", "--device", "mps"], "--device mps: this machine has no such device"),
        (["compare", DATA, "--out", "m", "--rules", "crm@hxe"], "'hxe' is not among the methods compared"),
        (["compare", DATA, "--out", "m", "--reference", "hier-cos+cmr"], "did you mean 'hier-cos + crm'"),
        (["compare", DATA, "--out", "m", "--format", "xml"], "--format xml: expected one of csv, json"),
        (["predict", "nowhere", "-"], "nowhere: there is no such folder"),
        (["predict", "nowhere", "-", "--format", "xml"], "--format xml"),
        (["predict", "nowhere", "-", "--format", "parquet"], "expected --output"),
        (["train"], "Missing"),
        (["fly"], "No such command"),
        (["train", DATA, "--out", "m", "--effort", "quik"], "--effort quik: expected one of quick, normal, best; see"),
        (["review", "m", "d.csv", "--rows", "0"], "--rows 0: expected at least 1; see hiercos review"),
        (["train", DATA, "--out", "m", "--epochs", "x"], "--epochs x: expected an integer; see hiercos train"),
        (["train", DATA, "--out", "m", "--epochs", "none"], "epochs"),
        (["train", DATA, "--out", "m", "--epochs", "9", "--set", "patience=3"], "patience 3: expected no epochs"),
        (["ablate", DATA, "--out", "m", "--epochs", "9", "--set", "max_epochs=3"], "max_epochs 3: expected no epochs"),
        (["compare", DATA, "--out", "m", "--set", "schedule=cosine"], "schedule cosine: expected epochs"),
        (["compare", DATA, "--out", "m", "--set", "schedule=plateau", "--epochs", "2"], "expected patience instead"),
        (["train", DATA, "--out", "m", "--set", "patience=0"], "patience"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str],
    expected: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    vectors = [str(data / "data.npz"), "--taxonomy", str(data / "tree.csv")]
    assert run([part for argument in arguments for part in (vectors if argument == DATA else [argument])]) == 2
    out, err = capsys.readouterr()
    assert expected in err
    assert "Traceback" not in err
    assert out == ""
    assert not list(tmp_path.iterdir())


EARLY = {  # words of a command -> start of the message; DATA is a file that is no table of texts, FOLDER a model
    "train nothing.csv --out m": "nothing.csv: there is no such file",
    "train icd10cmm --out m": "icd10cmm: there is no such file or folder, and no built-in data set of that name",
    "train icd10cm:99 --out m": "icd10cm: there is no chapter '99'",
    "train DATA --taxonomy no.csv --out m": "no.csv: there is no such file",
    "train DATA --out FOLDER": "FOLDER: already holds a finished run",
    "train DATA --out DATA": "--out DATA: expected a folder, got a file",
    "train DATA --out m --method hier-cso": "unknown method 'hier-cso'; did you mean 'hier-cos'?",
    "train DATA --out m --backbone minilmm": "unknown backbone 'minilmm'; did you mean 'minilm'?",
    "train DATA --out m --rule crmm": "unknown rule 'crmm'; did you mean 'crm'?",
    "train DATA --out m --set alpha": "--set alpha: expected name=value",
    "train DATA --out m --device gpu": "--device gpu: expected one of auto, cpu, cuda, mps",
    "train DATA --out m --precision 8": "--precision 8: expected one of 32-true, bf16-mixed, 16-mixed",
    "compare nothing.csv --out m": "nothing.csv: there is no such file",
    "compare DATA --out m --taxonomy no.csv": "no.csv: there is no such file",
    "compare DATA --out m --methods hxe,logistc": "unknown method 'logistc'; did you mean 'logistic'?",
    "compare DATA --out m --rules crmm": "unknown rule 'crmm'; did you mean 'crm'?",
    "compare DATA --out m --rules crm@hxee": "unknown method 'hxee'; did you mean 'hxe'?",
    "compare DATA --out m --device gpu": "--device gpu: expected one of",
    "ablate DATA --out m --axes alhpa": "unknown axis 'alhpa'; did you mean 'alpha'?",
    "embed DATA --backbone timm: --output f.npz": "unknown backbone 'timm:'; did you mean 'timm:MODEL'?",
    "extend FOLDER DATA --taxonomy t.csv --out m": "t.csv: there is no such file",
}


def test_wrong_values_are_named_before_the_data_are_read_and_torch_is_imported(model: Path, tmp_path: Path) -> None:
    (tmp_path / "faulty.csv").write_text("this is no table of texts\n", encoding="utf-8")
    names = {"DATA": "faulty.csv", "FOLDER": str(model)}
    lines = [[names.get(word, word) for word in line.split()] for line in EARLY]
    for (code, out, err), start in zip(without_torch(lines, tmp_path), EARLY.values(), strict=True):
        expected = start.replace("DATA", "faulty.csv").replace("FOLDER", str(model))
        assert err.startswith(f"error: {expected}")
        assert (code, out) == (2, "")
    assert [file.name for file in tmp_path.iterdir()] == ["faulty.csv"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train faulty.csv --out m --method hier-cos --set alhpa=1", "alhpa: there is no such setting or option of"),
        ("evaluate --scores faulty.csv --taxonomy t.csv --metrics hopps", "--metrics: unknown metric 'hopps'; did you"),
    ],
)
def test_misspelt_options_and_metrics_are_refused_before_the_data_are_read(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faulty.csv").write_text("this is no table of texts\n", encoding="utf-8")
    assert run(line.split()) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (tmp_path / "m").exists()


def test_the_part_that_is_trained_is_named(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command("train", data, tmp_path, *FAST, "--method", "path-softmax", "--rule", "none")) == 0
    err = capsys.readouterr().err
    assert "are kept" not in err  # the last fit learns from all rows
    assert "all samples: epoch 2/2, loss" in err


@pytest.mark.parametrize("arguments", [["--debug", "predict", "nowhere", "-"], ["predict", "nowhere", "-", "--debug"]])
def test_debug_shows_the_traceback(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "Traceback" in capsys.readouterr().err


def test_without_a_command_the_four_of_a_day_and_one_to_try_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines() if "hiercos " in line][:5]
    assert [words[1] for words in lines] == ["compare", "train", "predict", "review", "compare"]
    assert err == ""


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from hiercos import __version__

    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_a_group_of_commands_without_a_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["taxonomy"]) == 2
    assert "error: expected a command; see hiercos taxonomy --help" in capsys.readouterr().err
