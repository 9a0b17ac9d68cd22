"""Every Python example of the README and the documentation runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest

from blobs import cloud
from trees import TOY

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = {
    str(path.relative_to(ROOT)): "\n".join(blocks)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if (blocks := BLOCK.findall(path.read_text(encoding="utf-8")))
}


def write_files_of_a_user(folder: Path) -> None:
    """The files that examples speak of: tree.csv, titles.csv and features.npz."""
    TOY.write(folder / "tree.csv")
    rows = [f"{name} {number},{name}" for number in range(40) for name in TOY.class_names]
    (folder / "titles.csv").write_text("\n".join(["text,label", *rows]))
    features, labels = cloud(TOY, 120)
    np.savez(folder / "features.npz", features=features.numpy(), labels=labels.numpy())


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files_of_a_user(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(PAGES[page], page, "exec"), {"__name__": page})


def test_the_readme_and_the_metrics_have_examples() -> None:
    assert "README.md" in PAGES
    assert all("assert " in code for page, code in PAGES.items() if page.startswith("docs/metrics/"))
    assert len([page for page in PAGES if page.startswith("docs/metrics/")]) == 18


def test_there_is_a_page_for_every_metric_of_the_index() -> None:
    folder = ROOT / "docs" / "metrics"
    linked = set(re.findall(r"\]\(([a-z0-9-]+)\.md\)", (folder / "index.md").read_text(encoding="utf-8")))
    assert linked == {path.stem for path in folder.glob("*.md")} - {"index"}
