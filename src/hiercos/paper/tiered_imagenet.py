"""tieredImageNet-H: 608 classes of ImageNet under a pruned WordNet, from the user's edge list and split."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hiercos.data import BuiltIn, Dataset, ImageFiles
from hiercos.errors import DataError
from hiercos.paper.split_files import SplitEntry, foldered_split, is_foldered, listed_split
from hiercos.taxonomy import EdgeRow, Taxonomy, TaxonomyError, kept_parents, tree_from_edge_rows

FOLDER = "tiered-imagenet-h"
EDGES = "*isa.txt"
LISTS = "splits_tieredImageNet-H"  # as Making Better Mistakes publishes its split
IMAGE_FOLDERS = ("images", "train", "val")  # folders with listed images in subfolders of their synsets
LAYOUT = (
    f'{FOLDER}/ with a file isa.txt (or one whose name ends so) of lines "parent child" such as "n01439121 n01440764", '
    "and either images in train/SYNSET, val/SYNSET and test/SYNSET, or the split as "
    "splits_tieredImageNet-H/train/SYNSET.txt and so on beside ImageNet's images in images/SYNSET "
    "(images may be a link to its training folder)"
)


def tiered_imagenet(root: Path) -> Dataset:
    """tieredImageNet-H with the tree of the edge list, pruned to the classes of the split.

    Classes are the synsets of the split in alphabetical order, and nodes are named by their synset ids.

    Args:
        root: folder that contains `tiered-imagenet-h`, or that folder itself.
    """
    folder = _found(root)
    if folder is None:
        raise DataError(f"tiered-imagenet-h is not in {root}: expected {LAYOUT}")
    lists = folder / LISTS
    entries = _with_paths(folder, listed_split(lists)) if lists.is_dir() else foldered_split(folder)
    taxonomy = _taxonomy(min(folder.glob(EDGES)), sorted({entry.label for entry in entries}))
    label_of = {name: label for label, name in enumerate(taxonomy.class_names)}
    return Dataset(
        name="tiered-imagenet-h",
        taxonomy=taxonomy,
        inputs=ImageFiles([entry.file for entry in entries]),
        nodes=taxonomy.leaves[[label_of[entry.label] for entry in entries]],
        split=np.array([entry.split for entry in entries]),
        source=str(folder),
    )


def _found(root: Path) -> Path | None:
    for folder in (root / FOLDER, root):
        has_split = is_foldered(folder) or (folder / LISTS).is_dir()
        if has_split and any(folder.glob(EDGES)):
            return folder
    return None


def _taxonomy(file: Path, classes: Sequence[str]) -> Taxonomy:
    """Tree of an edge list, pruned to the classes; a single name at the top is the root."""
    rows, faults = list[EdgeRow](), list[str]()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if len(names := line.split()) == 2:
            rows.append(EdgeRow(f"row {number}", names[0], names[1]))
        elif names:
            faults.append(f"row {number}: expected 'parent child', got {line!r}")
    tops = {row.parent for row in rows} - {row.child for row in rows}
    root = tops.pop() if len(tops) == 1 else ""
    try:
        tree = kept_parents(tree_from_edge_rows(rows, [], root=root), "one")
        node_of = {name: node for node, name in enumerate(tree.names)}
        faults += [f"no edge leads to the class {name!r} of the split" for name in classes if name not in node_of]
        if faults:
            raise TaxonomyError(faults)
        return Taxonomy.from_paths([tree.names[node] for node in tree.path(node_of[name])] for name in classes)
    except TaxonomyError as error:
        raise DataError(f"{file}: {fault}" for fault in error.faults) from error


def _with_paths(folder: Path, entries: Sequence[SplitEntry]) -> list[SplitEntry]:
    """Entries with the paths of their images."""
    places = {label: _images_of(folder, label) for label in {entry.label for entry in entries}}
    found = [entry._replace(file=places[entry.label].get(entry.file, "")) for entry in entries]
    missing = [entry for entry, known in zip(entries, found, strict=True) if not known.file]
    if missing:
        looked = ", ".join(f"{name}/{missing[0].label}" for name in IMAGE_FOLDERS)
        raise DataError(f"{entry.where}: there is no image {entry.file!r} in {folder} ({looked})" for entry in missing)
    return found


def _images_of(folder: Path, label: str) -> dict[str, str]:
    """Path of each image of a synset by name; for equal names, the path in the first folder."""
    paths: dict[str, str] = {}
    for name in IMAGE_FOLDERS:
        if (folder / name / label).is_dir():
            for image in (folder / name / label).iterdir():
                paths.setdefault(image.name, str(image))
    return paths


TIERED_IMAGENET_H = BuiltIn(
    description="606,702 photographs of ImageNet in 608 classes under 12 levels of WordNet",
    origin="ImageNet (ILSVRC 2012, on request) and the tree and split of Making Better Mistakes, 2020",
    where=LAYOUT,
    found=_found,
    read=tiered_imagenet,
    classes=608,
    levels=12,
)
