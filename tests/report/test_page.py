import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyses import MARKUP, analysis
from hiercos.report import Statement, comparison_results, run_results, write_report
from hiercos.report.page import report_html
from records import record

RECORDS = [record("hier-cos", hops=0.9), record("cross-entropy", hops=0.4)]
ADVICE = [
    Statement("ship", "near.", subject="Ship hier-cos"),
    Statement("command", "hiercos train 'a <b>.csv'", subject="To train it"),
]
RESULTS = comparison_results(RECORDS, advice=ADVICE, recommended="hier-cos")


def tight(text: str) -> str:
    """The text of a page without the white space between its elements."""
    return re.sub(r">\s+<", "><", text)


class Page(HTMLParser):
    """The elements of a page: their ids, the text of table cells with its class, and tags that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.tags: list[str] = []
        self.cell: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self.ids += [named["id"] or ""] if "id" in named else []
        self.links += [named["href"] or ""] if tag == "a" else []
        if tag not in ("meta", "link", "input", "br", "img"):
            self.open.append(tag)
        self.cell = (named.get("class") or "") if tag == "td" else self.cell

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.cell is not None:
            self.cells.append((self.cell, data))
            self.cell = None


def test_the_page_holds_the_tables_with_their_best_values_and_the_verdict(tmp_path: Path) -> None:
    message = write_report(RESULTS, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    cells = Page(text).cells
    assert message == f"The report is {tmp_path / 'report.html'}."
    assert ("best", "0.900") in cells
    assert ("", "0.400") in cells
    assert ("", "+0.500") in cells  # one seed: nothing is certain
    assert "Table: differences to cross-entropy, the most accurate flat method, seed by seed" in text
    assert "hier-cos gains 0.500 of HOPS" in text
    assert "<h1>toys &lt;b&gt;</h1>" in text


def test_the_recommendation_comes_first_and_its_command_is_code() -> None:
    page = tight(report_html(RESULTS))
    assert '<div class="verdict"><p class="first">Ship hier-cos: near.</p></div>' in page
    more = page.partition('<div class="more">')[2].partition("</div>")[0]
    command, _, folded = more.partition("<details>")
    assert "<code>hiercos train &#39;a &lt;b&gt;.csv&#39;</code>" in command
    assert "<p><strong>Against cross-entropy, the most accurate flat method: </strong>hier-cos gains" in folded


def test_reasons_and_mistakes_are_folded_below_the_picture() -> None:
    advice = [
        Statement("few-rows", "over 3.", subject="Few test rows"),
        Statement("features", "good.", subject="The features"),
        Statement("ship", "top-1 50.00%.", subject="Ship hier-cos", reason="It ties with none."),
    ]
    results = comparison_results([record("hier-cos"), record("cross-entropy")], advice=advice)
    page = tight(report_html(results, analysis()))
    verdict, _, rest = page.partition('<div class="verdict">')[2].partition("</div>")
    assert verdict == '<p class="first">Ship hier-cos: top-1 50.00%.</p><p><strong>Few test rows: </strong>over 3.</p>'
    folded = rest.partition("<details>")[2]
    assert rest.index("<svg") < rest.index("<details>")
    assert all(words in folded for words in ("It ties with none.", "Where it errs: ", "The features: "))
    assert "committee: several models" not in page
    of_committee = comparison_results([record("committee"), record("cross-entropy")], advice=advice)
    assert "committee: several models" in report_html(of_committee)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, "5 features"),
        ({"features": None}, "sparse features"),
        ({"features": None, "kind": "texts"}, "n-grams"),
        ({"features": None, "kind": "texts", "backbone": {"name": "minilm"}}, "n-grams and minilm vectors"),
    ],
)
def test_features_are_said_in_words(data: dict[str, object], text: str) -> None:
    vectors = record("hier-cos")
    page = report_html(comparison_results([replace(vectors, data={**vectors.data, **data})]))
    assert f"test samples; {text}; 1 seed" in page


def test_the_page_is_whole_and_links_to_its_own_sections() -> None:
    page = Page(report_html(RESULTS, analysis()))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert "section-mistakes" in page.ids


def test_the_page_needs_nothing_from_the_network() -> None:
    text = report_html(RESULTS, analysis())
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text) == []
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "@import" not in text


def test_names_and_inputs_with_markup_stay_text() -> None:
    found = analysis()
    text = report_html(RESULTS, found)
    page = Page(text)
    assert "b" not in page.tags
    assert "img" not in page.tags
    stored = text.partition('id="data">')[2].partition("</script>")[0]
    values = json.loads(stored)
    assert values["names"] == list(MARKUP.names)
    assert values["inputs"]["3"]["text"] == "<i>input</i> 3"


def test_the_data_of_the_script_are_those_of_the_analysis() -> None:
    found = analysis()
    values = json.loads(report_html(RESULTS, found).partition('id="data">')[2].partition("</script>")[0])
    assert values["labels"] == found.answers.labels.tolist()
    assert values["support"] == found.nodes.support.tolist()
    assert values["mistakes"][0]["row"] == found.mistakes[0].row
    assert [pair["count"] for pair in values["pairs"]] == [pair.count for pair in found.pairs]


def test_without_inputs_the_page_says_so() -> None:
    sentence = "The inputs themselves are not part of this report."
    assert sentence in report_html(RESULTS, analysis(with_inputs=False))
    assert sentence not in report_html(RESULTS, analysis())


def test_ten_thousand_samples_and_many_classes_stay_below_three_megabytes() -> None:
    from hiercos import Taxonomy

    paths = [(f"chapter {c // 300}", f"section {c // 20}", f"a class with a longer name {c}") for c in range(1271)]
    text = report_html(RESULTS, analysis(Taxonomy.from_paths(paths), 10_000))
    assert len(text.encode()) < 3_000_000


def test_the_page_lists_the_options_that_all_runs_of_a_method_share() -> None:
    assert "Methods: hier-cos: width 7; cross-entropy: width 7." in report_html(RESULTS)


def test_settings_that_a_search_chose_stand_with_their_methods() -> None:
    """Epochs are the same in all runs; the learning rate is one method's own."""
    other = record("cross-entropy")
    tuned = [RECORDS[0], replace(other, config={**other.config, "learning_rate": 0.02})]
    text = report_html(comparison_results(tuned))
    assert "Settings: epochs 2, batch size 4, optimizer adamw. " in text
    assert "Methods: hier-cos: learning rate 0.1, width 7; cross-entropy: learning rate 0.02, width 7." in text


def test_the_report_of_a_run_starts_with_its_figures() -> None:
    results = run_results([record("hier-cos", hops=0.9), record("hier-cos", rule="crm")])
    assert str(results.verdict) == "hier-cos: top-1 50.00%, mean tree distance 0.500, HOPS 0.900 on 3 test samples."
    assert [variant.name for variant in results.sections[0].variants] == ["hier-cos", "hier-cos + crm"]
    assert str(results.verdict) in report_html(results)
    own = run_results([record("hier-cos", hops=0.9), record("hier-cos", hops=0.8, rule="crm")], "hier-cos + crm")
    assert str(own.verdict).startswith("hier-cos + crm: top-1 50.00%, mean tree distance 0.500, HOPS 0.800")
