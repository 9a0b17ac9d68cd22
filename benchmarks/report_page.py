"""How fast a large report opens in Chromium: python benchmarks/report_page.py

The report is of random answers to 10,000 samples over ICD-10-CM (1,271 classes), or over a synthetic tree of
--nodes nodes. Printed are its size; the time from the start of the navigation until all scripts have run and the
page is laid out, of a zoom into the tree and of a search among the classes, all measured in the page; and a
screenshot of it minus one of an empty page, which adds painting. Chromium must be installed.
"""

import argparse
import html
import json
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from hiercos import Taxonomy
from hiercos.decisions import Posterior, rule
from hiercos.evaluation import VariantAnswers, analyse
from hiercos.metrics.table import SUITE, of_all_levels
from hiercos.records import Record
from hiercos.report import comparison_results
from hiercos.report.page import report_html
from trees import layered_tree, tree_called

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
MEASURE = """<pre id="measured"></pre><script>{
  const laidOut = () => { document.body.getBoundingClientRect(); return performance.now() / 1000; };
  const times = { ready: laidOut() };
  const timed = work => { const start = performance.now() / 1000; work(); return laidOut() - start; };
  const bar = document.querySelector("#icicle rect"), search = document.getElementById("search");
  times.zoom = timed(() => bar.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  times.search = timed(() => { search.value = "a"; search.dispatchEvent(new Event("input")); });
  document.getElementById("measured").textContent = JSON.stringify(times);
}</script>"""


def layers(nodes: int) -> tuple[int, ...]:
    """Sizes of four levels with this many nodes together: three small ones and the rest."""
    upper = [max(nodes // 9**level, 1) for level in (4, 3, 2)]
    return (*upper, nodes - sum(upper))


def answers(taxonomy: Taxonomy, samples: int, name: str, skill: float) -> VariantAnswers:
    """Answers to samples of random classes; the higher the skill, the more are right."""
    labels = np.random.default_rng(0).integers(taxonomy.num_classes, size=samples)
    scores = np.random.default_rng(round(10 * skill)).normal(size=(samples, taxonomy.num_classes)).astype(np.float32)
    scores[np.arange(samples), labels] += skill
    return VariantAnswers(name, name, rule("none"), Posterior.from_scores(scores, taxonomy), labels)


def record(method: str, taxonomy: Taxonomy, samples: int) -> Record:
    """Record of a run with the same value for every metric."""
    levels = {f"accuracy_level_{level}": 0.5 for level in range(1, taxonomy.height + 1)}
    shape = {"nodes": taxonomy.num_nodes, "classes": taxonomy.num_classes}
    heights = dict.fromkeys(("height", "largest_distance"), taxonomy.height)
    return Record(
        method=method,
        uses_tree=method != "cross-entropy",
        rule="none",
        seed=0,
        config={"options": {}, "seed": 0},
        data={
            "name": "random answers",
            "source": "random answers",
            "fingerprint": "0" * 64,
            "features": 1,
            "sizes": {"train": 1, "val": 1, "test": samples},
        },
        taxonomy={"fingerprint": "0" * 64, **shape, **heights},
        metrics={spec.name: 0.5 for spec in of_all_levels(SUITE, taxonomy.height)}
        | {"correct_order_all": 0.5}
        | levels,
        history=[],
        best_epoch=1,
        train_seconds=1.0,
        versions={},
    )


def page(taxonomy: Taxonomy, samples: int) -> str:
    """The report of a comparison of two variants on a taxonomy, with a text for each input."""
    variant = answers(taxonomy, samples, "hier-cos", 4.0)
    flat = answers(taxonomy, samples, "cross-entropy", 3.5)
    inputs = {
        row: {"name": f"text {row + 1}", "text": f"a phrase of usual length, number {row}"} for row in range(samples)
    }
    found = analyse(variant, [flat], reference="cross-entropy", seed=0, inputs=inputs)
    records = [record(name, taxonomy, samples) for name in ("hier-cos", "cross-entropy")]
    return report_html(comparison_results(records, recommended="hier-cos"), found)


def chromium(file: Path, folder: Path, *options: str) -> tuple[str, float]:
    """Output of headless Chromium on a page, in a window of 1,280 times 900 pixels, and its seconds."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise SystemExit("Chromium is not installed (Debian: apt-get install chromium)")
    command = [
        found,
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1280,900",
        *options,
        file.as_uri(),
    ]
    start = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout, perf_counter() - start


def measured(file: Path, folder: Path) -> dict[str, Any]:
    """Seconds of the page by what it did, as the page wrote them."""
    shown, _ = chromium(file, folder, "--dump-dom")
    content = re.search(r'<pre id="measured">(.*?)</pre>', shown, flags=re.DOTALL)
    assert content is not None
    times: dict[str, Any] = json.loads(html.unescape(content[1]))
    return times


def main() -> None:
    """Write the page, open it several times, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, help="nodes of a synthetic tree; by default the tree is ICD-10-CM")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the report to this file, too")
    given = parser.parse_args()
    taxonomy = layered_tree(layers(given.nodes)) if given.nodes else tree_called("icd10cm")
    text = page(taxonomy, given.samples)
    if given.keep:
        given.keep.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report, empty = folder / "report.html", folder / "empty.html"
        report.write_text(text.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
        empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
        chromium(empty, folder, "--dump-dom")  # makes the profile
        times = [measured(report, folder) for _ in range(given.rounds)]
        shots = [
            [chromium(file, folder, f"--screenshot={folder / 'shot.png'}")[1] for file in (report, empty)]
            for _ in range(given.rounds)
        ]
    size = f"{taxonomy.num_classes:,} classes, {taxonomy.num_nodes:,} nodes: {len(text) / 1e6:.2f} MB"
    print(f"{given.samples:,} samples, {size}")
    for name in ("ready", "zoom", "search"):
        print(f"    {name} {statistics.median(each[name] for each in times):.2f} s")
    print(f"    screenshot {statistics.median(ours - bare for ours, bare in shots):.2f} s more than of an empty page")


if __name__ == "__main__":
    main()
