"""FGVC-Aircraft: 10,000 photographs of aircraft, manufacturer > family > variant, with the official splits."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from hiercos.data import SPLITS, BuiltIn, Dataset, Download, ImageFiles, Images, Rows
from hiercos.errors import DataError
from hiercos.paper.download import fetch
from hiercos.paper.split_files import missing_files
from hiercos.taxonomy import Taxonomy

if TYPE_CHECKING:
    from PIL.Image import Image

LEVELS = {"manufacturer": "manufacturers.txt", "family": "families.txt", "variant": "variants.txt"}
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


class ImageLabel(NamedTuple):
    """Label of an image at one level, and its file and row in the image lists."""

    name: str
    where: str


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
    lists = {level: {split: _image_list(folder, level, split) for split in SPLITS} for level in LEVELS}
    taxonomy = _taxonomy(folder, {level: _joined(folder, level, of_split) for level, of_split in lists.items()})
    label_of = {name: label for label, name in enumerate(taxonomy.class_names)}
    images = [
        (image, label_of[line.name], split) for split in SPLITS for image, line in lists["variant"][split].items()
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
    return next((place for place in places if (place / LEVELS["variant"]).is_file()), None)


def _lines(file: Path) -> list[tuple[str, str]]:
    """Lines that are not blank, each with its file and row."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise DataError(f"{file}: there is no such file, but FGVC-Aircraft has one") from error
    return [(line.strip(), f"{file}: row {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _image_list(folder: Path, level: str, split: str) -> dict[str, ImageLabel]:
    """Images of a split in order, with their label at a level."""
    images: dict[str, ImageLabel] = {}
    faults = []
    for line, where in _lines(folder / f"images_{level}_{split}.txt"):
        image, _, name = line.partition(" ")
        if not name:
            faults.append(f"{where}: expected an image and its {level}, got {line!r}")
        elif image in images:
            faults.append(f"{where}: the image {image} is already in {images[image].where}")
        else:
            images[image] = ImageLabel(name.strip(), where)
    if faults:
        raise DataError(faults)
    return images


def _joined(folder: Path, level: str, of_split: Mapping[str, Mapping[str, ImageLabel]]) -> dict[str, ImageLabel]:
    """Images of all splits, checked to be in one split and to have a label from the level's file."""
    known = {name for name, _ in _lines(folder / LEVELS[level])}
    joined: dict[str, ImageLabel] = {}
    faults = []
    for images in of_split.values():
        for image, line in images.items():
            if line.name not in known:
                faults.append(f"{line.where}: {line.name!r} is not in {LEVELS[level]}")
            if image in joined:
                faults.append(f"{line.where}: the image {image} is also in another split, {joined[image].where}")
            joined[image] = line
    if faults:
        raise DataError(faults)
    return joined


def _taxonomy(folder: Path, labels: Mapping[str, Mapping[str, ImageLabel]]) -> Taxonomy:
    """Taxonomy of the variants, with the family and manufacturer of their images."""
    paths: dict[str, tuple[str, str]] = {}
    faults = []
    for image, variant in labels["variant"].items():
        if lacking := [level for level in LEVELS if image not in labels[level]]:
            faults.append(f"{variant.where}: the image {image} has no {lacking[0]} in the images_{lacking[0]} lists")
            continue
        above = (labels["manufacturer"][image].name, labels["family"][image].name)
        if (first := paths.setdefault(variant.name, above)) != above:
            faults.append(
                f"{variant.where}: this image puts {variant.name!r} under {' > '.join(above)}, "
                f"others under {' > '.join(first)}"
            )
    file = LEVELS["variant"]
    unseen = [(name, where) for name, where in _lines(folder / file) if name not in paths]
    faults += [f"{where}: no list has an image of {name!r}, so its family is not known" for name, where in unseen]
    if faults:
        raise DataError(faults)
    return Taxonomy.from_paths((*paths[name], name) for name in sorted(paths))


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
