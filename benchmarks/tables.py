"""The records of finished runs in benchmarks/results, a JSON Lines file for each table, and the tables made of them.

python benchmarks/tables.py collect OUT TABLE  # put the records of `hiercos compare --out OUT` into TABLE.jsonl; those
                                               # there of methods that are not in OUT are kept
python benchmarks/tables.py show WORDS...      # print a table; mkdocs puts it in place of <!-- results: WORDS... -->
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.evaluation import answer_rows, bootstrap_interval
from hiercos.methods import METHODS
from hiercos.metrics.table import metric_spec
from hiercos.records import Record, read_records, variant_name
from hiercos.report import Cell, Grid, comparison_results, markdown_table
from hiercos.storage import write

RESULTS = Path(__file__).parent / "results"
MARKER = re.compile(r"<!-- results: (?P<words>[^\n]+?) -->")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class TableError(ValueError):
    """A table that cannot be made or collected."""


@dataclass(frozen=True)
class Stored:
    """A record with the tree distance of each test answer, one base-36 digit a row."""

    record: Record
    distances: str = ""

    def to_json(self) -> str:
        """A line of JSON: no epochs, no trials of a search, no folder names; nan becomes null."""
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


def collect(out: Path, target: Path) -> int:
    """Put the records of a comparison into the file of a table in place of those of its methods; return how many."""
    runs = sorted(path.parent for path in out.glob("runs/*/seed-*/record.json"))
    if not runs:
        raise TableError(f"{out}: expected a folder of hiercos compare with finished runs, found none")
    found = [Stored(record, _distances(run, record.rule)) for run in runs for record in read_records(run).values()]
    methods = {each.record.method for each in found}
    kept = [each for each in read_table(target) if each.record.method not in methods] if target.exists() else []
    write(target, "".join(each.to_json() for each in _ordered([*found, *kept])))
    return len(found)


def _distances(run: Path, rule: str) -> str:
    return "".join(DIGITS[int(distance)] for distance in answer_rows(run, rule)[:, 1])


def read_table(path: Path) -> list[Stored]:
    """The records of a table, in the order of the file."""
    if not path.exists():
        raise TableError(f"{path.stem}: there is no file {path}; see benchmarks/results/README.md")
    return [Stored.from_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _ordered(stored: Iterable[Stored]) -> list[Stored]:
    """Records by method (flat ones first), rule and seed."""
    return sorted(stored, key=lambda each: _place(each.record))


def _place(record: Record) -> tuple[bool, int, str, bool, str, int]:
    known = list(METHODS)
    place = known.index(record.method) if record.method in known else len(known)
    return record.uses_tree, place, record.method, record.rule != "none", record.rule, record.seed


@dataclass(frozen=True)
class Request:
    """What a marker of the documentation asks for, see benchmarks/results/README.md."""

    table: str
    rows: bool = False
    reference: str | None = None
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: str) -> "Request":
        """A request from the words of a marker."""
        name, *others = words.split()
        request = cls(name)
        for word in others:
            key, _, value = word.partition("=")
            if word == "rows":
                request = replace(request, rows=True)
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
    stored = read_table(folder / f"{request.table}.jsonl")
    if request.lines:
        order = {name: place for place, name in enumerate(request.lines)}
        if missing := [name for name in order if name not in {each.record.name for each in stored}]:
            raise TableError(f"{request.table}: there is no variant {missing[0]!r}")
        kept = [each for each in stored if each.record.name in order]
        stored = sorted(kept, key=lambda each: order[each.record.name])
    if request.rows:
        return _rows_table(stored, request)
    results = comparison_results([each.record for each in stored], reference=request.reference)
    (section,) = results.sections
    if request.columns:
        results = replace(results, columns=tuple(metric_spec(name) for name in request.columns))
    return _grid_table(results.figures(section))


def _grid_table(grid: Grid) -> str:
    head = [grid.corner, *(column.directed_heading for column in grid.columns)]
    rows = [[name, *map(_bold, cells)] for name, cells in zip(grid.names, grid.rows, strict=True)]
    return markdown_table(head, rows, "l" + "r" * len(grid.columns))


def _bold(cell: Cell) -> str:
    return f"**{cell.text}**" if abs(cell.merit) == 1 else cell.text


def _rows_table(stored: Sequence[Stored], request: Request) -> str:
    """Differences in top-1 and AHD@1 to the reference over the test rows, with bootstrap intervals."""
    if len({each.record.seed for each in stored}) > 1:
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
    return markdown_table([f"minus {reference.name}", *(spec.directed_heading for spec in specs)], rows, "lrr")


def _row_values(distances: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Top-1 and AHD@1 of each row, shape (M, 2)."""
    values = np.array([DIGITS.index(digit) for digit in distances], dtype=np.float64)
    return np.stack([values == 0, values], axis=1).astype(np.float64)


def _interval_text(texts: Sequence[str]) -> str:
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Hook of mkdocs: a page with a table in place of each marker."""
    return MARKER.sub(lambda found: render(Request.read(found["words"])), markdown)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    collecting = commands.add_parser("collect", help="take the records of a comparison over")
    collecting.add_argument("out", type=Path, help="folder of hiercos compare --out")
    collecting.add_argument("table", help="name of the table")
    commands.add_parser("show", help="print a table").add_argument("words", nargs="+")
    options = parser.parse_args(arguments)
    try:
        if options.command == "show":
            print(render(Request.read(" ".join(options.words))))
        else:
            target = RESULTS / f"{options.table}.jsonl"
            print(f"{collect(options.out, target)} records in {target}")
    except TableError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
