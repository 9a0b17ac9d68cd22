import re
from pathlib import Path

from hiercos.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
INDEX = (DOCS / "methods" / "index.md").read_text(encoding="utf-8")


def test_the_index_has_a_row_with_the_options_of_every_published_method() -> None:
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \|.*\| ([^|]*)\|$", INDEX, re.MULTILINE))
    for name in rows.keys() - {"hier-cos"}:
        assert set(re.findall(r"`(\w+)`", rows[name])) == set(METHODS.options(name)), name
    published = {"hxe", "soft-labels", "yolo-v2", "barz-denzler", "haframe", "hier-cos", "cross-entropy"}
    levelled = {f"{name}-{number}" for name in ("flamingo", "hafeat") for number in (1, 2)}
    assert rows.keys() >= published | levelled | {"cross-entropy-mlp"}


def test_every_page_is_linked_from_the_index() -> None:
    linked = set(re.findall(r"\]\(([a-z0-9-]+)\.md\)", INDEX))
    assert linked == {path.stem for path in (DOCS / "methods").glob("*.md")} - {"index"}


def test_every_paper_that_a_page_or_a_method_cites_is_among_the_references() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text(encoding="utf-8")))
    source = Path(__file__).parents[2] / "src" / "hiercos"
    files = [*(DOCS / "methods").glob("*.md"), *(source / "methods").glob("*.py"), *(source / "losses").glob("*.py")]
    cited = {key for file in files for key in re.findall(r"\[([a-z]+\d{4})\b", file.read_text(encoding="utf-8"))}
    assert cited - known == set()
    assert cited >= {"bertinetto2020", "redmon2017", "barz2019", "chang2021", "garg2022", "liang2023", "sani2026"}
