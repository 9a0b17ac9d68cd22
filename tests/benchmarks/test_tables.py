"""The tables of the documentation are rendered from the records in benchmarks/results."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.benchmark import Entry, compare, learning_curves
from hiercos.records import Record
from hiercos.training import Settings
from records import record
from trees import TOY17

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "tables.py"
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
    """The records of a comparison of one seed and of learning curves, as two tables."""
    folder, fabric = tmp_path_factory.mktemp("results"), Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    compare(fabric, blob_data(TOY17, 340), ENTRIES, [0], folder / "out")
    learning_curves(fabric, blob_data(TOY17, 340), [(2, ENTRIES), (None, ENTRIES)], [0, 1], folder / "few")
    assert tables.collect(folder / "out", folder / "toys") == 3
    assert tables.collect(folder / "few", folder / "curves") == 12
    return folder


def test_the_tables_of_the_documentation_are_what_the_records_say(tables: ModuleType) -> None:
    assert [str(path) for path, text, new in tables.rendered_pages() if new != text] == []


def test_a_record_keeps_its_figures_and_loses_its_epochs_and_folder(tables: ModuleType) -> None:
    made = record("hier-cos", 3, rule="crm", hops=math.nan)
    made.data["source"] = "/home/somebody/toys.csv"
    text = tables.Stored(made, "0102").to_json()
    back = tables.Stored.from_json(text)
    assert (back.distances, back.record.name, back.record.seed) == ("0102", "hier-cos + crm", 3)
    assert back.record.metrics["top1"] == made.metrics["top1"]
    assert math.isnan(back.record.metrics["hops"])
    assert "somebody" not in text
    assert tables.file_name(made) == "hier-cos-3+crm.json"


def test_collected_records_have_the_metrics_and_rows_of_the_runs(tables: ModuleType, collected: Path) -> None:
    assert sorted(path.name for path in (collected / "toys").iterdir()) == [
        "cross-entropy-0+crm.json",
        "cross-entropy-0.json",
        "hier-cos-0.json",
    ]
    for stored in tables.read_table("toys", collected):
        run = collected / "out" / "runs" / stored.record.method / "seed-0"
        assert stored.record.metrics["hops"] == Record.read(run, stored.record.rule).metrics["hops"]
        assert stored.distances.count("0") / len(stored.distances) == pytest.approx(stored.record.metrics["top1"])
    assert len((collected / "curves" / "hier-cos-1@2.json").read_text()) > 0
    assert not tables.read_table("curves", collected)[0].distances


def test_collecting_again_keeps_the_records_of_other_methods(
    tables: ModuleType, collected: Path, tmp_path: Path
) -> None:
    for made in (record("haframe", 0), record("hier-cos", 7)):
        (tmp_path / tables.file_name(made)).write_text(tables.Stored(made).to_json())
    assert tables.collect(collected / "out", tmp_path) == 3
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"cross-entropy-0+crm.json", "cross-entropy-0.json", "hier-cos-0.json", "haframe-0.json"}


def test_a_table_has_the_selected_variants_and_columns(tables: ModuleType, collected: Path) -> None:
    request = tables.Request.read("toys lines=hier-cos,cross-entropy+crm columns=top1,hops")
    head, _, *rows = tables.render(request, collected).splitlines()
    assert head == "| method | top-1 % ↑ | HOPS ↑ |"
    assert [row.split(" | ")[0] for row in rows] == ["| hier-cos", "| cross-entropy + crm"]
    stored = tables.read_table("toys", collected)
    assert [each.record.name for each in stored] == ["cross-entropy", "cross-entropy + crm", "hier-cos"]
    top1 = stored[1].record.metrics["top1"]
    assert f"{100 * top1:.2f}" in rows[1]


def test_differences_and_rows_name_all_variants_but_the_reference(tables: ModuleType, collected: Path) -> None:
    for kind in ("differences", "rows"):
        text = tables.render(tables.Request.read(f"toys {kind} reference=cross-entropy+crm"), collected)
        assert [row.split(" | ")[0] for row in text.splitlines()[2:]] == ["| cross-entropy", "| hier-cos"]
    values = [stored.record.metrics["ahd_at_1"] for stored in tables.read_table("toys", collected)]
    assert f"{values[2] - values[1]:+.3f} (" in text


def test_a_curve_has_a_column_for_each_number_of_samples(tables: ModuleType, collected: Path) -> None:
    text = tables.render(tables.Request.read("curves curve columns=macro_accuracy"), collected)
    assert text.splitlines()[0] == "| macro %, samples a class | 2 | all |"
    assert len(text.splitlines()) == 5
    assert "±" in text


def test_an_outdated_table_is_found_and_rendered_again(tables: ModuleType, collected: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- results: toys columns=hops -->\nold\n<!-- end of results -->\n\nafter\n")
    ((path, text, new),) = tables.rendered_pages(tmp_path, collected)
    assert (path, "old" in text, "old" in new) == (page, True, False)
    assert "| hier-cos |" in new
    assert new.startswith("before\n")
    assert new.endswith("after\n")
    page.write_text(new)
    assert all(text == new for _, text, new in tables.rendered_pages(tmp_path, collected))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing", "there are no records in"),
        ("toys lines=haframe", "there is no variant 'haframe'"),
        ("toys figure", "unknown word 'figure'"),
        ("toys curve", "a curve needs the records of hiercos compare --shots"),
        ("curves rows", "rows need a table of one seed"),
    ],
)
def test_a_table_that_cannot_be_rendered_is_refused(
    tables: ModuleType, collected: Path, words: str, message: str
) -> None:
    with pytest.raises(tables.TableError, match=message):
        tables.render(tables.Request.read(words), collected)


def test_a_folder_without_runs_is_not_collected(tables: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(tables.TableError, match="with finished runs, found none"):
        tables.collect(tmp_path, tmp_path / "table")
    assert not (tmp_path / "table").exists()
