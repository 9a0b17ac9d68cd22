"""FGVC-Aircraft: 10,000 photographs of aircraft, manufacturer > family > variant, with the official splits."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from hiercos.data import SPLITS, BuiltIn, Dataset, Download, ImageFiles, Images, Rows
from hiercos.errors import DataError
from hiercos.paper.download import fetch
from hiercos.paper.split_files import missing_files
from hiercos.taxonomy import Taxonomy

if TYPE_CHECKING:
    from PIL.Image import Image

LEVELS = ("manufacturer", "family", "variant")
BANNER = 20  # height in pixels of the banner at the bottom that names the author
BANNER_CUT = b"\x00without its banner"  # suffix that makes the content of a cut photograph differ from its file
DOWNLOADS = (
    Download(
        url="https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz",
        size=2_753_340_328,
        checksum="md5:d4acdd33327262359767eeaa97a4f732",
        folder="",
        members=("fgvc-aircraft-2013b",),
    ),
)
LAYOUT = (
    "fgvc-aircraft-2013b/data with variants.txt, families.txt, manufacturers.txt, images_variant_train.txt and so on, "
    "and images/, as in fgvc-aircraft-2013b.tar.gz (https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/)"
)


class WithoutBanner(Images):
    """Photographs without the banner at the bottom."""

    def __init__(self, files: Images) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def name(self, row: int) -> str:
        """The path of the file."""
        return self._files.name(row)

    def content(self, row: int) -> bytes:
        """Bytes of the file and a suffix, so that cached features of the whole photograph are not used."""
        return self._files.content(row) + BANNER_CUT

    def open(self, row: int) -> "Image":
        """The photograph without its banner."""
        image = self._files.open(row)
        return image.crop((0, 0, image.width, max(1, image.height - BANNER)))

    def take(self, rows: Rows) -> Self:
        """The photographs at these rows."""
        return type(self)(self._files.take(rows)).with_digests_of(self, rows)


def fgvc_aircraft(root: Path) -> Dataset:
    """FGVC-Aircraft with the tree of its own files, the official splits and the banner cut.

    Classes are the variants in alphabetical order. A variant's family and manufacturer are those that the lists give
    its images.

    Args:
        root: folder that contains `fgvc-aircraft-2013b`, or that folder, or its `data`.
    """
    folder = _found(root)
    if folder is None:
        raise DataError(f"fgvc-aircraft is not in {root}: expected {LAYOUT}")
    labels = {level: _labels(folder, level) for level in LEVELS}
    above = {
        name: (labels["manufacturer"][image], labels["family"][image]) for image, name in labels["variant"].items()
    }
    taxonomy = Taxonomy.from_paths((*above[name], name) for name in sorted(above))
    label_of = {name: label for label, name in enumerate(taxonomy.class_names)}
    images = [
        (image, label_of[name], split) for split in SPLITS for image, name in _image_list(folder, "variant", split)
    ]
    paths = [folder / "images" / f"{image}.jpg" for image, _, _ in images]
    if missing := missing_files(paths):
        raise DataError(f"{path}: the lists name this image, but it is not there" for path in missing)
    return Dataset(
        name="fgvc-aircraft",
        taxonomy=taxonomy,
        inputs=WithoutBanner(ImageFiles(paths)),
        nodes=taxonomy.leaves[[label for _, label, _ in images]],
        split=np.array([split for _, _, split in images]),
        source=str(folder),
    )


def _found(root: Path) -> Path | None:
    places = (root / "fgvc-aircraft-2013b" / "data", root / "data", root)
    return next((place for place in places if (place / "variants.txt").is_file()), None)


def _labels(folder: Path, level: str) -> dict[str, str]:
    """Label of each image of all splits at a level."""
    return dict(line for split in SPLITS for line in _image_list(folder, level, split))


def _image_list(folder: Path, level: str, split: str) -> list[tuple[str, str]]:
    """Images of a split in order, each with its label at a level."""
    file, lines = folder / f"images_{level}_{split}.txt", list[tuple[str, str]]()
    if not file.is_file():
        raise DataError(f"{file}: there is no such file, but FGVC-Aircraft has one")
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        image, _, name = line.strip().partition(" ")
        if not name:
            raise DataError(f"{file}: row {number}: expected an image and its {level}, got {line!r}")
        lines.append((image, name))
    return lines


FGVC_AIRCRAFT = BuiltIn(
    description="10,000 photographs of aircraft: 30 manufacturers > 70 families > 100 variants",
    origin="Maji et al., Fine-Grained Visual Classification of Aircraft, 2013; for research, not for commerce",
    where=LAYOUT,
    found=_found,
    read=fgvc_aircraft,
    classes=100,
    levels=3,
    downloads=DOWNLOADS,
    fetch=fetch,
)
