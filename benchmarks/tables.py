"""Render the tables of the documentation from the records of finished runs in benchmarks/results.

python benchmarks/tables.py                    # rewrite the tables in docs/
python benchmarks/tables.py --check            # exit code 1 if a table is not what the records say
python benchmarks/tables.py collect OUT TABLE  # copy the records of `hiercos compare --out OUT` to TABLE; records there
                                               # of methods that are not in OUT are kept
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.evaluation import answer_rows, bootstrap_interval
from hiercos.methods import METHODS
from hiercos.metrics.table import metric_spec
from hiercos.records import Record, read_records, variant_name
from hiercos.report import Cell, Grid, Variant, comparison_results, learning_curve_results, markdown_table
from hiercos.storage import write

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
BLOCK = re.compile(r"(<!-- results: (?P<words>[^\n]+?) -->\n).*?(<!-- end of results -->)", re.DOTALL)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
KINDS = ("figures", "differences", "rows", "curve")


class TableError(ValueError):
    """A table that cannot be rendered or collected."""


@dataclass(frozen=True)
class Stored:
    """A record with the tree distance of each test answer, one base-36 digit a row; "" where it is not kept."""

    record: Record
    distances: str = ""

    def to_json(self) -> str:
        """Compact JSON: no epochs, no trials of a search, no folder names; nan becomes null."""
        values = asdict(self.record)
        history = values.pop("history")
        values["metrics"] = {name: None if math.isnan(value) else value for name, value in values["metrics"].items()}
        values["data"]["source"] = Path(str(values["data"]["source"])).name
        if values["tuning"] is not None:
            values["tuning"].pop("trials")
        return json.dumps({**values, "epochs": len(history), "distances": self.distances}) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Stored":
        """The record from the JSON of `to_json`; its epochs are empty."""
        values = json.loads(text)
        distances, epochs = values.pop("distances"), values.pop("epochs")
        metrics = {name: math.nan if value is None else value for name, value in values["metrics"].items()}
        return cls(Record(**{**values, "metrics": metrics, "history": [{}] * epochs}), distances)


def file_name(record: Record) -> str:
    """Name of a record's file: METHOD-SEED[+RULE][@SHOTS].json."""
    rule = "" if record.rule == "none" else f"+{record.rule}"
    shots = f"@{record.data['shots']}" if "shots" in record.data else ""
    return f"{record.method}-{record.seed}{rule}{shots}.json"


def collect(out: Path, target: Path) -> int:
    """Copy the records of a comparison to the folder of a table, replacing those of its methods; return how many."""
    runs = sorted(path.parent for path in out.glob("runs/*/seed-*/record.json"))
    runs += sorted(path.parent for path in out.glob("shots/*/*/seed-*/record.json"))
    if not runs:
        raise TableError(f"{out}: expected a folder of hiercos compare with finished runs, found none")
    one_seed = len({run.name for run in runs}) == 1
    found = {}
    for run in runs:
        for record in read_records(run).values():
            found[file_name(record)] = Stored(record, _distances(run, record.rule) if one_seed else "")
    target.mkdir(parents=True, exist_ok=True)
    for name, stored in found.items():
        write(target / name, stored.to_json())
    methods = {stored.record.method for stored in found.values()}
    for path in target.glob("*.json"):
        if path.name not in found and Stored.from_json(path.read_text(encoding="utf-8")).record.method in methods:
            path.unlink()
    return len(found)


def _distances(run: Path, rule: str) -> str:
    return "".join(DIGITS[int(distance)] for distance in answer_rows(run, rule)[:, 1])


def read_table(name: str, folder: Path) -> list[Stored]:
    """The records of a table, ordered by method (flat ones first), rule and seed."""
    files = sorted((folder / name).glob("*.json"))
    if not files:
        raise TableError(f"{name}: there are no records in {folder / name}; see benchmarks/results/README.md")
    return sorted((Stored.from_json(path.read_text(encoding="utf-8")) for path in files), key=_place)


def _place(stored: Stored) -> tuple[bool, int, str, bool, str, int]:
    record, known = stored.record, list(METHODS)
    place = known.index(record.method) if record.method in known else len(known)
    return record.uses_tree, place, record.method, record.rule != "none", record.rule, record.seed


@dataclass(frozen=True)
class Request:
    """What a marker of the documentation asks for, see benchmarks/results/README.md."""

    table: str
    kind: str = "figures"
    reference: str | None = None
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: str) -> "Request":
        """A request from the words of a marker."""
        name, *others = words.split()
        request = cls(name)
        for word in others:
            key, equals, value = word.partition("=")
            if not equals and word in KINDS:
                request = replace(request, kind=word)
            elif key == "reference":
                request = replace(request, reference=_spaced(value))
            elif key in ("lines", "columns"):
                request = replace(request, **{key: tuple(_spaced(each) for each in value.split(","))})
            else:
                raise TableError(f"results: {words}: unknown word {word!r}")
        return request


def _spaced(name: str) -> str:
    return variant_name(*name.split("+")) if "+" in name else name


def render(request: Request, folder: Path = RESULTS) -> str:
    """A table in Markdown."""
    stored = read_table(request.table, folder)
    if request.lines:
        order = {name: place for place, name in enumerate(request.lines)}
        if missing := [name for name in order if name not in {each.record.name for each in stored}]:
            raise TableError(f"{request.table}: there is no variant {missing[0]!r}")
        kept = [each for each in stored if each.record.name in order]
        stored = sorted(kept, key=lambda each: order[each.record.name])
    if request.kind == "rows":
        return _rows_table(stored, request)
    if request.kind == "curve":
        return _curve_table([each.record for each in stored], request)
    results = comparison_results([each.record for each in stored], reference=request.reference)
    (section,) = results.sections
    if request.columns:
        results = replace(results, columns=tuple(metric_spec(name) for name in request.columns))
    grid = results.figures(section) if request.kind == "figures" else results.differences(section)
    if grid is None:
        raise TableError(f"{request.table}: there is no flat variant to compare with; name one with reference=NAME")
    return _grid_table(grid)


def _grid_table(grid: Grid) -> str:
    head = [grid.corner, *(column.directed_heading for column in grid.columns)]
    rows = [[name, *map(_bold, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    return markdown_table(head, rows, "l" + "r" * len(grid.columns))


def _bold(cell: Cell) -> str:
    return f"**{cell.text}**" if abs(cell.merit) == 1 else cell.text


def _rows_table(stored: Sequence[Stored], request: Request) -> str:
    """Differences in top-1 and AHD@1 to the reference over the test rows, with bootstrap intervals."""
    if any(not each.distances for each in stored) or len({each.record.seed for each in stored}) > 1:
        raise TableError(f"{request.table}: rows need a table of one seed")
    values = {each.record.name: _row_values(each.distances) for each in stored}
    results = comparison_results([each.record for each in stored], reference=request.reference)
    reference = results.sections[0].reference
    if reference is None:
        raise TableError(f"{request.table}: there is no flat variant to compare with; name one with reference=NAME")
    specs = [metric_spec(name) for name in ("top1", "ahd_at_1")]
    rows = []
    for name, own in values.items():
        if name == reference.name:
            continue
        found = bootstrap_interval(own - values[reference.name])
        texts = [
            _interval_text([spec.text(float(each[column]), sign="+") for each in (found.mean, found.low, found.high)])
            for column, spec in enumerate(specs)
        ]
        certain = [bool(low > 0 or high < 0) for low, high in zip(found.low, found.high, strict=True)]
        rows.append([name, *(f"**{text}**" if sure else text for text, sure in zip(texts, certain, strict=True))])
    return markdown_table(["method", *(spec.directed_heading for spec in specs)], rows, "lrr")


def _row_values(distances: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Top-1 and AHD@1 of each row, shape (M, 2)."""
    values = np.array([DIGITS.index(digit) for digit in distances], dtype=np.float64)
    return np.stack([values == 0, values], axis=1).astype(np.float64)


def _interval_text(texts: Sequence[str]) -> str:
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def _curve_table(records: Sequence[Record], request: Request) -> str:
    """Mean of one metric and half its interval, a column for each number of training samples of a class."""
    if any("shots" not in record.data for record in records):
        raise TableError(f"{request.table}: a curve needs the records of hiercos compare --shots")
    ordered = sorted(records, key=lambda record: math.inf if record.data["shots"] == "all" else record.data["shots"])
    results = learning_curve_results(ordered)
    (column,) = [metric_spec(name) for name in request.columns or ("top1",)]
    names = request.lines or tuple(variant.name for variant in results.sections[0].variants)
    points = [
        {variant.name: _estimate_text(variant, column.name) for variant in section.variants}
        for section in results.sections
    ]
    rows = [[name, *(point[name] for point in points)] for name in names]
    return markdown_table([f"{column.heading}, samples a class", *results.points], rows, "l" + "r" * len(points))


def _estimate_text(variant: Variant, name: str) -> str:
    spec, estimate = metric_spec(name), variant.estimate(name)
    half = "" if math.isnan(estimate.half_width) else f" ±{spec.text(estimate.half_width)}"
    return spec.text(estimate.mean) + half


def rendered_pages(docs: Path = DOCS, folder: Path = RESULTS) -> Iterator[tuple[Path, str, str]]:
    """Every page with a marker: its path, its text, and the text with all tables rendered."""
    for path in sorted(docs.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            yield path, text, BLOCK.sub(lambda found: _block(found, folder), text)


def _block(found: "re.Match[str]", folder: Path) -> str:
    return f"{found[1]}\n{render(Request.read(found['words']), folder)}\n{found[3]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if a table is out of date")
    collecting = parser.add_subparsers(dest="command").add_parser("collect", help="copy the records of a comparison")
    collecting.add_argument("out", type=Path, help="folder of hiercos compare --out")
    collecting.add_argument("table", help="name of the table")
    options = parser.parse_args(arguments)
    try:
        if options.command == "collect":
            print(f"{collect(options.out, RESULTS / options.table)} records in {RESULTS / options.table}")
            return 0
        changed = [(path, new) for path, text, new in rendered_pages() if new != text]
    except TableError as error:
        print(error, file=sys.stderr)
        return 2
    for path, new in changed:
        print(f"{path.relative_to(ROOT)}: {'out of date' if options.check else 'rendered'}")
        if not options.check:
            write(path, new)
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
