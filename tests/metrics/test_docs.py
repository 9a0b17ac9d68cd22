"""The examples of the documentation run as they stand, page by page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "metrics"
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_hold(page: str) -> None:
    path = DOCS / f"{page}.md"
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert blocks
    code = "\n".join(blocks)
    assert "assert " in code
    exec(compile(code, str(path), "exec"), {"__name__": page})


def test_there_is_a_page_for_every_metric_of_the_index() -> None:
    linked = set(re.findall(r"\]\(([a-z0-9-]+)\.md\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert linked == set(PAGES) - {"index"}
    assert len(linked) == 17
