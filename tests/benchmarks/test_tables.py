"""The tables of the documentation are made of the records in benchmarks/results."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import Entry, compare
from hiercos.records import Record
from hiercos.training import Settings
from records import record
from trees import TOY17

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "tables.py"
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "<!-- results: " in path.read_text(encoding="utf-8")]
ENTRIES = [
    Entry(Settings(method="cross-entropy", epochs=1, batch_size=32), ("none", "crm")),
    Entry(Settings(method="hier-cos", epochs=1, batch_size=32)),
]


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_tables", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def collected(tables: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of one seed in the folder `out`, and its records in the table `toys`."""
    folder, fabric = tmp_path_factory.mktemp("results"), Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    compare(fabric, blob_data(TOY17, 340), ENTRIES, [0], folder / "out")
    assert tables.collect(folder / "out", folder / "toys.jsonl") == 3
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_marker_of_a_page_becomes_a_table(tables: ModuleType, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = tables.on_page_markdown(text, page=None)
    assert "<!-- results" not in made
    assert made.count("| --- |") + made.count("|---|") > text.count("|---|")


def test_a_record_keeps_its_figures_and_loses_its_epochs_and_folder(tables: ModuleType) -> None:
    made = record("hier-cos", 3, rule="crm", hops=math.nan)
    made.data["source"] = "/home/somebody/toys.csv"
    text = tables.Stored(made, "0102").to_json()
    back = tables.Stored.from_json(text)
    assert (back.distances, back.record.name, back.record.seed) == ("0102", "hier-cos + crm", 3)
    assert back.record.metrics["top1"] == made.metrics["top1"]
    assert math.isnan(back.record.metrics["hops"])
    assert "somebody" not in text


def test_collected_records_have_the_metrics_and_rows_of_the_runs(tables: ModuleType, collected: Path) -> None:
    stored = tables.read_table(collected / "toys.jsonl")
    assert [each.record.name for each in stored] == ["cross-entropy", "cross-entropy + crm", "hier-cos"]
    for each in stored:
        run = collected / "out" / "runs" / each.record.method / "seed-0"
        assert each.record.metrics["hops"] == Record.read(run, each.record.rule).metrics["hops"]
        assert each.distances.count("0") / len(each.distances) == pytest.approx(each.record.metrics["top1"])


def test_collecting_again_keeps_the_records_of_other_methods(
    tables: ModuleType, collected: Path, tmp_path: Path
) -> None:
    kept = [tables.Stored(made).to_json() for made in (record("haframe", 0), record("hier-cos", 7))]
    (tmp_path / "toys.jsonl").write_text("".join(kept))
    assert tables.collect(collected / "out", tmp_path / "toys.jsonl") == 3
    left = [(each.record.name, each.record.seed) for each in tables.read_table(tmp_path / "toys.jsonl")]
    assert left == [("cross-entropy", 0), ("cross-entropy + crm", 0), ("haframe", 0), ("hier-cos", 0)]


def test_a_table_has_the_selected_variants_and_columns(tables: ModuleType, collected: Path) -> None:
    request = tables.Request.read("toys lines=hier-cos,cross-entropy+crm columns=top1,hops")
    head, _, *rows = tables.render(request, collected).splitlines()
    assert head == "| method | top-1 % ↑ | HOPS ↑ |"
    assert [row.split(" | ")[0] for row in rows] == ["| hier-cos", "| cross-entropy + crm"]
    top1 = tables.read_table(collected / "toys.jsonl")[1].record.metrics["top1"]
    assert f"{100 * top1:.2f}" in rows[1]


def test_rows_name_all_variants_but_the_reference(tables: ModuleType, collected: Path) -> None:
    text = tables.render(tables.Request.read("toys rows reference=cross-entropy+crm"), collected)
    assert [row.split(" | ")[0] for row in text.splitlines()[2:]] == ["| cross-entropy", "| hier-cos"]
    values = [each.record.metrics["ahd_at_1"] for each in tables.read_table(collected / "toys.jsonl")]
    assert f"{values[2] - values[1]:+.3f} (" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing", "there is no file"),
        ("toys lines=haframe", "there is no variant 'haframe'"),
        ("toys figure", "unknown word 'figure'"),
    ],
)
def test_a_table_that_cannot_be_made_is_refused(tables: ModuleType, collected: Path, words: str, message: str) -> None:
    with pytest.raises(tables.TableError, match=message):
        tables.render(tables.Request.read(words), collected)


def test_a_folder_without_runs_is_not_collected(tables: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(tables.TableError, match="with finished runs, found none"):
        tables.collect(tmp_path, tmp_path / "table.jsonl")
    assert not (tmp_path / "table.jsonl").exists()
