import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_every_paper_that_a_page_or_a_method_cites_is_among_the_references() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text(encoding="utf-8")))
    source = Path(__file__).parents[2] / "src" / "hiercos"
    files = [*(DOCS / "methods").glob("*.md"), *(source / "methods").glob("*.py"), *(source / "losses").glob("*.py")]
    cited = {key for file in files for key in re.findall(r"\[([a-z]+\d{4})\b", file.read_text(encoding="utf-8"))}
    assert cited - known == set()
    assert cited >= {"bertinetto2020", "redmon2017", "barz2019", "chang2021", "garg2022", "liang2023", "sani2026"}
