"""Your own taxonomy from a spreadsheet, saved as CSV: one column per level, merged cells left blank below the first.

pip install 'hiercos[samples]'; python examples/spreadsheet_taxonomy.py
"""

import csv
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from hiercos import Taxonomy
from hiercos.data import load_dataset
from hiercos.hub import PretrainedModel

SHEET = Path(__file__).with_name("electronics.csv")  # the kinds of goods that a shop sells


def filled_down(rows: list[list[str]]) -> list[list[str]]:
    """The path of each row that is not empty; blank cells on the left are those of the row above."""
    paths: list[list[str]] = [[]]
    for row in filter(any, rows):
        blank = row.index(next(filter(None, row)))  # so many cells on the left
        paths.append(paths[-1][:blank] + [cell for cell in row[blank:] if cell])
    return paths[1:]


def sold() -> list[tuple[str, str]]:
    """Titles of goods that were sold, with their kinds as paths of the sheet."""
    data = load_dataset("listings")
    paths = [data.taxonomy.path_text(int(node)).split(" > ") for node in data.taxonomy.leaves]
    kinds = {label: f"{path[1]} > {'/'.join(path[2:])}" for label, path in enumerate(paths) if path[0] == "Electronics"}
    return [(title, kinds[label]) for title, label in zip(data.inputs, data.labels, strict=True) if label in kinds]


with SHEET.open(encoding="utf-8-sig", newline="") as stream, TemporaryDirectory() as name:
    header, *rows = csv.reader(stream)
    folder = Path(name)
    t = Taxonomy.from_paths(filled_down(rows)).with_ranks(header)
    t.write(folder / "tree.csv")
    print(f"{SHEET.name}: {t.num_nodes} nodes, {t.num_classes} classes, {t.height} levels")

    with (folder / "sold.csv").open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([("title", "kind"), *sold()[:2000]])
    columns = ["--input-column", "title", "--label-column", "kind"]
    settings = ["--effort", "quick", "--device", "cpu"]  # "normal", the default, is more accurate and takes longer
    command = ["hiercos", "train", "sold.csv", "--taxonomy", "tree.csv", *columns, *settings, "--out", "model"]
    subprocess.run([sys.executable, "-m", *command], cwd=folder, check=True)
    model = PretrainedModel.from_pretrained(folder / "model")

record = model.record
print(f"test top-1 {record.metrics['top1']:.3f}  HOPS {record.metrics['hops']:.3f}")
(answer,) = model.classifier.answers("wireless controller for the xbox", explain=True, level_confidences=True)
for level in header:
    print(f"{level}: {answer[level]} ({answer[f'{level}_confidence']:.0%})")
print("because:", answer["because"])
