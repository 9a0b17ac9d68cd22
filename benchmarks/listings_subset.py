"""Write the subset of the listings that docs/results.md uses: python benchmarks/listings_subset.py FOLDER

20,000 of the training rows, 3,000 of the validation rows and 5,000 of the test rows, drawn with the seed 0, as
listings.csv, and the whole tree as listings.json.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from hiercos.data import load_dataset

ROWS = {"train": 20_000, "val": 3_000, "test": 5_000}


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    dataset, generator = load_dataset("listings"), np.random.default_rng(0)
    taxonomy, labels = dataset.taxonomy, np.asarray(dataset.labels)
    folder.mkdir(parents=True, exist_ok=True)
    taxonomy.write(folder / "listings.json")
    with (folder / "listings.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "split"])
        for split, count in ROWS.items():
            rows = np.sort(generator.permutation(dataset.rows(split))[:count])
            for text, label in zip(dataset.inputs.values(rows), labels[rows], strict=True):
                writer.writerow([text, taxonomy.path_text(int(taxonomy.leaves[label])), split])


if __name__ == "__main__":
    main()
