"""Every Python example of the README and the documentation runs as it stands."""

import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from blobs import cloud
from hiercos.cli.app import run
from hiercos.metric_table import MEASURED, MetricSpec
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


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files_of_a_user(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(PAGES[page], page, "exec"), {"__name__": page})


def test_the_readme_and_the_metrics_have_examples() -> None:
    assert "README.md" in PAGES
    assert all("assert " in code for page, code in PAGES.items() if page.startswith("docs/metrics/"))
    assert len([page for page in PAGES if page.startswith("docs/metrics/")]) == 21


def test_there_is_a_page_for_every_metric_of_the_index() -> None:
    folder = ROOT / "docs" / "metrics"
    linked = set(re.findall(r"\]\(([a-z0-9-]+)\.md\)", (folder / "index.md").read_text(encoding="utf-8")))
    assert linked == {path.stem for path in folder.glob("*.md")} - {"index"}


def metric_line(spec: MetricSpec) -> str:
    """The line of a metric in the list of the suite."""
    name = f"{spec.name}_1`, `_2`, …" if spec.per_level else f"{spec.name}`"
    highest = "H" if spec.highest is None else "∞" if math.isinf(spec.highest) else f"{spec.highest:g}"
    places = [place for place, there in (("suite", spec.in_suite), ("results.csv", spec.in_results)) if there]
    better = "higher" if spec.higher_is_better else "lower"
    found = ", ".join([*places, "scorers"])
    return f"| [`{name}]({spec.page}.md) | {spec.heading} | {better} | 0 to {highest} | {found} |"


def test_the_list_of_metrics_is_that_of_the_table() -> None:
    index = (ROOT / "docs" / "metrics" / "index.md").read_text(encoding="utf-8")
    table = ["| name | heading | better | range | in |", "|---|---|---|---|---|", *map(metric_line, MEASURED)]
    assert "\n".join(table) in index
    questions = re.findall(
        r"^\| \[[^`\]]+\]\(([a-z0-9-]+)\.md\) \| [^|]+ \| (higher|lower) \|", index, flags=re.MULTILINE
    )
    rows = {(spec.page, "higher" if spec.higher_is_better else "lower") for spec in MEASURED}
    assert rows <= set(questions)
