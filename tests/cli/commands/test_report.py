"""`hiercos report` on runs and comparisons of a few texts."""

import json
import shutil
from pathlib import Path

import pytest

from hiercos.cli.app import run

WORDS = {"cat": "meow purr", "dog": "bark woof", "car": "engine wheel"}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of two methods on texts, some of them with the words of another class."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "tree.csv").write_text("kind,thing\npet,cat\npet,dog\nvehicle,car\n")
    names = list(WORDS)
    rows = [
        f"{WORDS[names[(number + (number % 7 == 0)) % 3]]} <b>{number}</b>,{names[number % 3]},{split}"
        for split, count in (("train", 60), ("val", 30), ("test", 42))
        for number in range(count)
    ]
    (folder / "items.csv").write_text("\n".join(["text,label,split", *rows]))
    out = folder / "out"
    data = [str(folder / "items.csv"), "--taxonomy", str(folder / "tree.csv")]
    options = ["--methods", "cross-entropy,hier-cos", "--rules", "none,crm", "--seeds", "1", "--epochs", "2"]
    assert run(["compare", *data, *options, "--set", "width=8", "--device", "cpu", "--out", str(out)]) == 0
    return out


def data_of(path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(path.read_text().partition('id="data">')[2].partition("</script>")[0])
    return found


def test_the_report_of_a_comparison_is_the_one_that_compare_wrote(comparison: Path, tmp_path: Path) -> None:
    assert run(["report", str(comparison), "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text() == (comparison / "report.html").read_text()
    assert (tmp_path / "again.html").stat().st_size < 3_000_000


def test_the_worst_mistakes_come_with_their_texts_unless_they_are_private(comparison: Path, tmp_path: Path) -> None:
    assert run(["report", str(comparison), "-o", str(tmp_path / "all.html")]) == 0
    assert run(["report", str(comparison), "-o", str(tmp_path / "private.html"), "--no-inputs"]) == 0
    found = data_of(tmp_path / "all.html")
    mistakes, inputs = found["mistakes"], found["inputs"]
    assert isinstance(mistakes, list)
    assert isinstance(inputs, dict)
    assert "<b>" in inputs[str(mistakes[0]["row"])]["text"]
    private = (tmp_path / "private.html").read_text()
    assert data_of(tmp_path / "private.html")["inputs"] == {}
    assert "meow" not in private


def test_another_variant_can_be_analysed(comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "report.html"
    assert run(["report", str(comparison), "-o", str(output), "--variant", "hier-cos + crm"]) == 0
    assert data_of(output)["variant"] == "hier-cos + crm"
    assert run(["report", str(comparison), "-o", str(output), "--variant", "hier-kos"]) == 2
    assert "did you mean 'hier-cos'" in capsys.readouterr().err


def test_a_run_has_a_report_of_its_own(comparison: Path) -> None:
    folder = comparison / "runs" / "hier-cos" / "seed-0"
    assert run(["report", str(folder)]) == 0
    text = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    assert "hier-cos: top-1" in text
    assert "hier-cos + crm" in text


def test_figures_are_written_beside_the_report(comparison: Path, tmp_path: Path) -> None:
    assert run(["report", str(comparison), "-o", str(tmp_path / "r.html"), "--figures"]) == 0
    names = {path.name for path in (tmp_path / "r-figures").iterdir()}
    assert {"correct-order.svg", "tree.svg", "coverage.svg"} <= names


@pytest.mark.parametrize(("form", "table"), [("md", "| method |"), ("tex", r"\begin{tabular}")])
def test_the_tables_come_as_markdown_and_latex(form: str, table: str, comparison: Path) -> None:
    assert run(["report", str(comparison), "--format", form]) == 0
    path = comparison / f"results.{form}"
    assert table in path.read_text()
    path.unlink()


def test_a_wrong_folder_or_format_is_one_sentence(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("with record.json or results.json\n")
    assert run(["report", str(comparison), "--format", "gif"]) == 2
    assert "gif" in capsys.readouterr().err
    (tmp_path / "results.json").write_text('{"rows": [{"axis": "span"}]}')
    assert run(["report", str(tmp_path)]) == 2
    assert "hiercos ablate writes its own" in capsys.readouterr().err
    (tmp_path / "results.json").write_text("{")
    assert run(["report", str(tmp_path)]) == 2
    assert "not JSON" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_comparison_without_stored_inputs_has_a_report_still(comparison: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(comparison, copy)
    for path in copy.rglob("inputs.json"):
        path.unlink()
    assert run(["report", str(copy)]) == 0
    assert data_of(copy / "report.html")["inputs"] == {}
