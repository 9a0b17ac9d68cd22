"""The report in a real browser; skipped where Chromium is not installed (Debian: `apt-get install chromium`)."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyses import MARKUP, analysis
from hiercos import Taxonomy
from hiercos.evaluation import Analysis
from hiercos.report import comparison_results
from hiercos.report.page import report_html
from records import record

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
# Errors of the page are collected from its start; a script at its end acts as a user and writes what it sees.
LISTEN = "<script>window.faults = []; addEventListener('error', event => faults.push(event.message));</script>"
ACT = """<pre id="seen"></pre><script>
const seen = {}, $ = id => document.getElementById(id), press = (key) =>
  $("icicle").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const bars = () => [...document.querySelectorAll("#icicle rect")].map(bar => Number(bar.dataset.node));
const click = node =>
  document.querySelector(`#icicle rect[data-node="${node}"]`).dispatchEvent(new MouseEvent("click", { bubbles: true }));
const column = at => [...document.querySelectorAll("#classes tr")].map(row => row.cells[at].textContent);
ACTIONS
seen.faults = window.faults;
$("seen").textContent = JSON.stringify(seen);
</script>"""


def seen_in(found: Analysis, actions: str, folder: Path, *, width: int = 1280) -> Any:
    """What a script reports after its actions on the page of an analysis, in a window of some width."""
    records = [
        record(name, seed, hops=0.4 + 0.1 * seed) for name in ("hier-cos", "cross-entropy") for seed in (0, 1, 2)
    ]
    text = report_html(comparison_results(records), found)
    text = text.replace("<head>", "<head>" + LISTEN).replace("</body>", ACT.replace("ACTIONS", actions) + "</body>")
    (folder / "report.html").write_text(text, encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    size = f"--window-size={width},900"
    command = [str(BROWSER), *FLAGS, profile, size, "--dump-dom", (folder / "report.html").as_uri()]
    page = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    content = re.search(r'<pre id="seen">(.*?)</pre>', page, flags=re.DOTALL)
    assert content is not None
    return json.loads(html.unescape(content[1]))


def test_zoom_click_sort_and_search_work_without_an_error(tmp_path: Path) -> None:
    actions = """
    seen.whole = bars();
    click(0); seen.zoomed = bars(); seen.panel = $("node").textContent; seen.said = $("announce").textContent;
    press("ArrowDown"); seen.below = $("announce").textContent;
    press("Escape"); seen.again = bars();
    const sort = document.querySelector("th[data-key=support] button");
    sort.click(); seen.ascending = column(1).map(Number);
    sort.click(); seen.descending = column(1).map(Number);
    $("search").value = "CAR"; $("search").dispatchEvent(new Event("input")); seen.searched = column(0);
    $("measure").value = "gain"; $("measure").dispatchEvent(new Event("change")); seen.key = $("key").textContent;
    seen.cards = $("mistakes").children.length;
    seen.pairs = $("pairs").rows.length;
    seen.suspects = suspectRows().length - 1;
    """
    found = analysis()
    seen = seen_in(found, actions, tmp_path)
    assert seen["faults"] == []
    assert sorted(seen["whole"]) == list(range(MARKUP.num_nodes)) == sorted(seen["again"])
    assert sorted(seen["zoomed"]) == [0, 2, 3]  # pet and its children
    assert "Confusion among its children" in seen["panel"]
    assert seen["said"].startswith(f"pet: {found.nodes.support[0]} test samples")
    assert seen["below"].startswith("pet > cat: ")
    assert seen["ascending"] == sorted(found.nodes.support[MARKUP.leaves].tolist())
    assert seen["descending"] == seen["ascending"][::-1]
    assert seen["searched"] == ["</script><b>vehicle > car"]
    assert seen["key"].startswith("Gain in accuracy over cross-entropy: -")
    assert seen["cards"] == min(len(found.mistakes), 12)
    assert seen["pairs"] == len(found.pairs)
    assert seen["suspects"] == len(found.suspected_labels)


def test_confusion_among_children_counts_the_answers(tmp_path: Path) -> None:
    found = analysis()
    actions = """click(0);
    const counts = row => [...row.cells].slice(1).map(cell => Number(cell.textContent) || 0);
    seen.rows = [...document.querySelector("#node table").tBodies[0].rows].map(counts);"""
    children = [2, 3]
    labels, answers = MARKUP.leaves[found.answers.labels], found.answers.nodes
    expected = [
        [int(((labels == true) & (answers == answer)).sum()) for answer in children]
        + [int(((labels == true) & ~((answers == 2) | (answers == 3))).sum())]
        for true in children
    ]
    assert seen_in(found, actions, tmp_path)["rows"] == expected


def test_names_and_inputs_with_markup_are_shown_as_text(tmp_path: Path) -> None:
    actions = """click(0); press("ArrowDown"); press("ArrowRight");
    seen.title = $("node").querySelector("h3").textContent;
    seen.card = $("mistakes").querySelector("p").textContent;
    seen.images = document.images.length;"""
    found = analysis()
    seen = seen_in(found, actions, tmp_path)
    assert seen["title"] == "pet > <img src=x onerror=alert(1)>"
    assert seen["card"] == f"<i>input</i> {found.mistakes[0].row}"
    assert (seen["images"], seen["faults"]) == (0, [])


def test_a_phone_sees_the_whole_width_and_the_narrow_picture(tmp_path: Path) -> None:
    actions = """
    const isShown = name => document.querySelector(name).getClientRects().length > 0;
    seen.overflow = document.documentElement.scrollWidth - innerWidth;
    seen.pictures = [isShown(".on-wide"), isShown(".on-narrow")];"""
    seen = seen_in(analysis(), actions, tmp_path, width=500)
    assert seen["overflow"] <= 0
    assert seen["pictures"] == [False, True]
    actions += """
    const tables = [...document.querySelectorAll(".scroll")].filter(each => each.scrollWidth > each.clientWidth);
    seen.scrolling = tables.map(each => each.textContent.slice(0, 40));"""
    wide = seen_in(analysis(), actions, tmp_path, width=1280)
    assert (wide["pictures"], wide["scrolling"]) == ([True, False], [])


def test_nodes_too_narrow_to_be_seen_share_bars_of_their_mean(tmp_path: Path) -> None:
    tree = Taxonomy.from_paths([("all", f"n{number}") for number in range(4000)])
    actions = """
    const narrow = [...document.querySelectorAll("#icicle rect")].filter(bar => bar.getAttribute("y") > 0);
    seen.widths = narrow.reduce((sum, bar) => sum + Number(bar.getAttribute("width")) + 0.5, 0);
    seen.wide = $("icicle").clientWidth; seen.bars = narrow.length; seen.nodes = [...new Set(bars())];
    seen.title = narrow[0].textContent; seen.note = $("merged").textContent;"""
    seen = seen_in(analysis(tree, 40), actions, tmp_path)
    assert seen["faults"] == []
    assert 250 < seen["bars"] < 700
    assert seen["widths"] == pytest.approx(seen["wide"], rel=0.02)
    assert seen["nodes"] == [0]  # they lead to their parent
    assert "nodes below all: mean" in seen["title"]
    assert "zoom in" in seen["note"]


def test_a_screen_reader_finds_names_roles_and_an_order(tmp_path: Path) -> None:
    actions = """click(0);
    const all = name => [...document.querySelectorAll(name)];
    const visible = all("button, select, input, a, [tabindex]").filter(each => each.getClientRects().length);
    const nameOf = each => each.getAttribute("aria-label") || each.labels?.[0]?.textContent || each.textContent.trim();
    seen.nameless = visible.filter(each => !nameOf(each)).map(each => each.outerHTML.slice(0, 80));
    seen.jumps = visible.filter(each => each.tabIndex > 0).length;
    seen.unlabelled = all("svg[role=img]").filter(each => !each.getAttribute("aria-label")).length;
    const levels = all("h1, h2, h3").map(each => Number(each.tagName[1]));
    seen.skipped = levels.filter((level, at) => level > (at ? levels[at - 1] : 0) + 1).length;
    const ids = all("[id]").map(each => each.id);
    seen.twice = ids.filter((id, at) => ids.indexOf(id) !== at);
    seen.landmarks = ["header", "nav", "main", "footer"].map(name => all(name).length);
    seen.headless = all("table").filter(each => !each.querySelector("th[scope=col]")).length;
    seen.live = $("announce").getAttribute("aria-live");
    seen.language = document.documentElement.lang;"""
    seen = seen_in(analysis(), actions, tmp_path)
    assert (seen["nameless"], seen["twice"]) == ([], [])
    assert [seen[key] for key in ("jumps", "unlabelled", "skipped", "headless")] == [0, 0, 0, 0]
    assert seen["landmarks"] == [1, 1, 1, 1]
    assert (seen["live"], seen["language"]) == ("polite", "en")


def test_copies_of_an_input_with_the_same_mistake_are_shown_once(tmp_path: Path) -> None:
    found = analysis()
    first = found.mistakes[0]
    copies = tuple(replace(first, row=row) for row in (first.row, first.row + 1))
    inputs = {each.row: {"name": "a", "text": "the same"} for each in copies}
    actions = """seen.cards = $("mistakes").children.length;
    seen.rows = $("mistakes").querySelector("p.small").textContent;"""
    seen = seen_in(replace(found, mistakes=copies, inputs=inputs), actions, tmp_path)
    assert seen["cards"] == 1
    assert seen["rows"] == f"Test rows {first.row + 1}, {first.row + 2}, tree distance {first.distance}"
    told_apart = replace(found, mistakes=copies, inputs={})
    assert seen_in(told_apart, actions, tmp_path)["cards"] == 2
