"""Write a subset of the listings: python benchmarks/listings_subset.py FOLDER [--rows 20000,3000,5000] [--least 0]

So many of the training, validation and test rows, drawn with the seed 0, as listings.csv, and the whole tree as
listings.json. With `--least` only categories with at least so many training rows; labels are paths, so that the file
can then be read without the tree. docs/notes/answers.md uses the default.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from hiercos.data import load_dataset

SPLITS = ("train", "val", "test")


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", default="20000,3000,5000", help="training, validation and test rows")
    parser.add_argument("--least", type=int, default=0, help="training rows of a category")
    asked = parser.parse_args()
    dataset, generator = load_dataset("listings"), np.random.default_rng(0)
    taxonomy, labels = dataset.taxonomy, np.asarray(dataset.labels)
    frequent = np.bincount(labels[dataset.rows("train")], minlength=taxonomy.num_classes) >= asked.least  # (C,)
    asked.folder.mkdir(parents=True, exist_ok=True)
    taxonomy.write(asked.folder / "listings.json")
    with (asked.folder / "listings.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        for split, count in zip(SPLITS, map(int, asked.rows.split(",")), strict=True):
            rows = dataset.rows(split)
            rows = np.sort(generator.permutation(rows[frequent[labels[rows]]])[:count])
            for text, label in zip(dataset.inputs.values(rows), labels[rows], strict=True):
                writer.writerow([text, taxonomy.path_text(int(taxonomy.leaves[label])), split])


if __name__ == "__main__":
    main()
