"""Every Python example of the README and the documentation runs as it stands."""

import csv
import importlib.util
import io
import pkgutil
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from typer.core import TyperGroup

from blobs import cloud
from hiercos.cli import commands
from hiercos.cli.app import app, run
from hiercos.data import BUILT_IN, READERS
from hiercos.decisions import RULES
from hiercos.encoders.backbones import BACKBONES
from hiercos.methods import METHODS
from hiercos.metrics.table import METRICS
from trees import TOY

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
ANY_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = {
    str(path.relative_to(ROOT)): "\n".join(blocks)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path not in TUTORIALS and (blocks := BLOCK.findall(path.read_text(encoding="utf-8")))
}
PRINTING = ("docs/hier-cos.md", "docs/decisions.md")  # pages that show what their example prints


def write_files_of_a_user(folder: Path) -> None:
    """The files that examples speak of: tree.csv, titles.csv and features.npz."""
    TOY.write(folder / "tree.csv")
    rows = [f"{name} {number},{name}" for number in range(40) for name in TOY.class_names]
    (folder / "titles.csv").write_text("\n".join(["text,label", *rows]))
    features, labels = cloud(TOY, 120)
    np.savez(folder / "features.npz", features=features.numpy(), labels=labels.numpy())


def run_block(kind: str, text: str, names: dict[str, object]) -> None:
    """Run a Python block, or the `hiercos` commands of a shell block, each of which must end well."""
    if kind == "python":
        exec(compile(text, "tutorial", "exec"), names)
        return
    for line in text.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "hiercos", line
        assert run(arguments) == 0, line


@pytest.mark.long
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_commands_and_examples_of_a_tutorial_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = ANY_BLOCK.findall(page.read_text(encoding="utf-8"))
    assert {kind for kind, _ in blocks} == {"python", "sh"}
    names: dict[str, object] = {"__name__": page.stem}
    for kind, text in blocks:
        run_block(kind, text, names)


COMMAND = re.compile(r"^(?:    )?((?:[^\n`]*\| )?hiercos (?:[^\n]*\\\n)*[^\n]*)$", flags=re.MULTILINE)
COMMANDS = [
    (str(path.relative_to(ROOT)), line)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for _, text in re.findall(r"^(```sh\n)(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for line in COMMAND.findall(text)
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_the_options_of_a_printed_command_exist(page: str, line: str) -> None:
    words = shlex.split(line.rpartition("| ")[2].replace("\\\n", " "), comments=True)
    words = words[: words.index(">")] if ">" in words else words
    command: Any = typer.main.get_command(app)
    context, arguments = typer.Context(command), [word for word in words[1:] if word != "--debug"]
    name = "hiercos"
    while isinstance(command, TyperGroup):
        name, command, arguments = command.resolve_command(context, arguments)
    assert command is not None, f"{page}: {line}"
    command.make_context(name, arguments)  # raises for an unknown option or a missing argument


def run_with_input(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command, given what `echo` or `printf` before a | would write."""
    source, _, command = line.rpartition("| ")
    if source:
        text = shlex.split(source)[1].replace("\\n", "\n")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(shlex.split(command, comments=True)[1:]) == 0, line


@pytest.mark.long
def test_the_five_minute_start_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(sh|py|python)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert [kind for kind, _ in blocks] == ["sh", "python", "sh", "py", "sh"]
    for kind, block in blocks[1:]:
        if kind == "sh":
            for line in COMMAND.findall(block):
                run_with_input(line, monkeypatch)
        else:
            exec(compile(block, "start", "exec"), {})
    assert (tmp_path / "comparison" / "report.html").exists()


@pytest.mark.long
def test_the_commands_of_the_readme_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    part = (ROOT / "README.md").read_text(encoding="utf-8").partition("## On the command line")[2]
    commands, printed = re.findall(r"^```(?:sh|text)\n(.*?)^```", part, flags=re.DOTALL | re.MULTILINE)[:2]
    for line in COMMAND.findall(commands):
        capsys.readouterr()
        run_with_input(line, monkeypatch)
    shown, found = (list(csv.reader(io.StringIO(text))) for text in (printed, capsys.readouterr().out))
    assert [row[:-2] for row in found] == [row[:-2] for row in shown]  # the figures vary in their last digits
    assert [float(row[-1]) for row in found[1:]] == pytest.approx([float(row[-1]) for row in shown[1:]], abs=0.01)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files_of_a_user(tmp_path)
    monkeypatch.chdir(tmp_path)
    tables = (METHODS, RULES, READERS, BACKBONES, BUILT_IN, commands.COMMANDS)
    for registry in tables:  # what a page registers is for the page alone
        monkeypatch.setattr(registry, "_items", dict(registry._items))
    with torch.random.fork_rng():
        exec(compile(PAGES[page], page, "exec"), {"__name__": page})
    if page in PRINTING:
        (printed,) = re.findall(r"^```text\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
        assert capsys.readouterr().out == printed


def test_the_readme_and_the_metrics_have_examples() -> None:
    assert "README.md" in PAGES
    metrics = [code for page, code in PAGES.items() if page.startswith("docs/metrics/")]
    assert len(metrics) == 4
    assert all("assert " in code for code in metrics)


def generator() -> Any:
    """The module that makes pages when the documentation is built."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = generator()
GENERATED = GENERATOR.pages()
TEXTS = {
    path: path.read_text(encoding="utf-8") for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
}
TEXTS = {ROOT / "docs" / path: text for path, text in GENERATED.items()} | TEXTS
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(text: str) -> set[str]:
    """Anchors of the headings of a page, as Python-Markdown makes them."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", outside, re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_links_of_a_page_lead_to_a_file_and_a_heading(path: Path) -> None:
    for target, anchor in LINK.findall(TEXTS[path]):
        found = (path.parent / target).resolve() if target else path
        assert found in TEXTS or found.exists(), f"{target} is missing"
        assert not anchor or anchor in anchors(TEXTS[found]), f"{target}#{anchor} is missing"


def test_a_page_is_made_for_every_method_and_metric_of_objects_that_are_there() -> None:
    for name in METHODS:
        assert any(f"| `{name}`" in text for path, text in GENERATED.items() if path.startswith("methods/")), name
    for spec in METRICS:
        assert not spec.page or f"`{spec.name}" in GENERATED[f"metrics/{spec.page}.md"]
    directives = [line for text in TEXTS.values() for line in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    assert len(directives) > 100
    for directive in directives:
        pkgutil.resolve_name(directive)


def test_every_table_that_a_page_asks_for_is_made() -> None:
    asked = {name for text in TEXTS.values() for name in re.findall(r"<!-- generated: (\w+) -->", text)}
    assert asked == set(GENERATOR.TABLES)
    for name in asked:
        assert GENERATOR.on_page_markdown(f"<!-- generated: {name} -->").count("\n| ") > 5
