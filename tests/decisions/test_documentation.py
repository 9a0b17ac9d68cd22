"""The snippet of docs/decisions.md prints what the page says."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text(encoding="utf-8")


def test_the_snippet_of_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(snippet, "docs/decisions.md", "exec"), {})
    assert capsys.readouterr().out == printed
