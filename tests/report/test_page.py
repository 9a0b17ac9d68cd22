import importlib.util
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hiercos.report import comparison_results, summarize, write_report
from hiercos.report.page import correct_order_figure, level_accuracy_figure
from records import record

RECORDS = [record("hier-cos", hops=0.9), record("cross-entropy", hops=0.4)]
RESULTS = comparison_results(RECORDS)


class Cells(HTMLParser):
    """The text of each table cell, with its class."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[tuple[str | None, str]] = []
        self.open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "td":
            self.open = dict(attrs).get("class") or ""

    def handle_data(self, data: str) -> None:
        if self.open is not None:
            self.cells.append((self.open, data))
            self.open = None


def test_the_page_holds_the_tables_with_their_best_values_and_the_verdict(tmp_path: Path) -> None:
    message = write_report(RESULTS, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    parser = Cells()
    parser.feed(text.partition("<h3>Predictions")[0])
    assert message == f"The report is {tmp_path / 'report.html'}."
    assert ("best", "0.900") in parser.cells
    assert ("", "0.400") in parser.cells
    assert ("", "+0.500") in parser.cells  # one seed: nothing is certain
    assert "Differences to cross-entropy, the most accurate flat method, seed by seed" in text
    assert "hier-cos gains 0.500 of HOPS" in text
    assert "<h1>toys &lt;b&gt;</h1>" in text


def test_the_page_needs_nothing_from_the_network(tmp_path: Path) -> None:
    write_report(RESULTS, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert 'src="http' not in text
    assert "<link" not in text


def test_the_page_lists_the_options_that_all_runs_of_a_method_share(tmp_path: Path) -> None:
    write_report(RESULTS, tmp_path / "report.html")
    assert "Methods: hier-cos: width 7; cross-entropy: width 7." in (tmp_path / "report.html").read_text()


def test_the_figures_hold_the_means_over_the_seeds() -> None:
    records = [record("a", 0, correct_order_at_3=0.2), record("a", 1, correct_order_at_3=0.4), record("b")]
    lines = summarize(records)
    order = correct_order_figure(lines)
    assert [trace.name for trace in order.data] == ["a", "b"]
    assert list(order.data[0].x) == ["1", "3", "5", "10", "20", "all"]  # 30 classes: no 50
    assert order.data[0].y[1] == pytest.approx(30.0)
    assert list(level_accuracy_figure(lines).data[0].y) == [75.0, 75.0]


def test_without_plotly_the_report_is_left_out_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "plotly" else real(name))
    message = write_report(RESULTS, tmp_path / "report.html")
    assert "report.html was not written" in message
    assert "hiercos[report]" in message
    assert not list(tmp_path.iterdir())


def test_settings_that_a_search_chose_stand_with_their_methods(tmp_path: Path) -> None:
    """Epochs are the same in all runs; the learning rate is one method's own."""
    other = record("cross-entropy")
    tuned = [RECORDS[0], replace(other, config={**other.config, "learning_rate": 0.02})]
    write_report(comparison_results(tuned), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "Settings: epochs 2, batch size 4, optimizer adamw. " in text
    assert "Methods: hier-cos: learning rate 0.1, width 7; cross-entropy: learning rate 0.02, width 7." in text
