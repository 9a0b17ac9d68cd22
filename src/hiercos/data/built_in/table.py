"""Table of the built-in data sets, and the root folder of their files."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from hiercos.data.dataset import Dataset
from hiercos.errors import DataError
from hiercos.registry import Registry
from hiercos.storage import cache_folder

ROOT_VARIABLE = "HIERCOS_DATA"
Transfer = Callable[[int, int], None]  # progress callback with the bytes received and the total


class DownloadError(Exception):
    """A download that failed: no network, no disk space, or a wrong checksum."""


@dataclass(frozen=True)
class Download:
    """A .tar.gz archive that holds a data set or a part of it."""

    url: str  # address of the archive
    size: int  # published size in bytes, exact or rounded
    checksum: str  # published checksum, such as `md5:…`; "" if none is published
    folder: str  # folder below the data root to extract into; "" for the root itself
    members: tuple[str, ...]  # files and folders that the archive contains

    @property
    def name(self) -> str:
        """File name of the archive."""
        return PurePosixPath(urlsplit(self.url).path).name

    def is_done(self, root: Path) -> bool:
        """Whether all members exist."""
        return all((root / self.folder / member).exists() for member in self.members)


@dataclass(frozen=True)
class BuiltIn:
    """A built-in data set."""

    description: str  # one line of text for `hiercos data`
    origin: str  # publication or package that the data come from
    where: str  # location of the data: a package, or files below the data root
    found: Callable[[Path], object]  # function from the data root to a true value where the data can be read
    read: Callable[[Path], Dataset]  # function from the data root to the data set
    # function from the text after the colon of `NAME:TEXT` to a part of the data set; None by default
    read_part: Callable[[str], Dataset] | None = None
    classes: int | None = None  # number of classes; None if it varies
    levels: int | None = None  # number of levels of the taxonomy; None if it varies
    # archives that `hiercos data NAME --download` fetches, in this order; none by default
    downloads: tuple[Download, ...] = ()
    # function that downloads one of them into the data root, or raises a `DownloadError`
    fetch: Callable[[Download, Path, Transfer], None] | None = None

    def is_present(self, root: Path | None = None) -> bool:
        """Whether the data can be loaded."""
        return bool(self.found(data_root(root)))

    def load(self, part: str = "", root: Path | None = None) -> Dataset:
        """The data set, or a part of it; `root` is None for `data_root`."""
        if not part:
            return self.read(data_root(root))
        if self.read_part is None:
            raise DataError(f"expected nothing after the name of this data set, got ':{part}'")
        return self.read_part(part)


def data_root(root: Path | None = None) -> Path:
    """Folder of the built-in data sets that need files.

    It is `root`, else the environment variable HIERCOS_DATA, else `data` in the cache (`~/.cache/hiercos`).
    """
    if root is not None:
        return root
    named = os.environ.get(ROOT_VARIABLE)
    return Path(named) if named else cache_folder("data")


def shown_size(size: int) -> str:
    """A number of bytes in readable units.

    Example:
        >>> shown_size(168_513_733), shown_size(1_500)
        ('169 MB', '1.5 kB')
    """
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


BUILT_IN: Registry[BuiltIn] = Registry(
    "built-in data set",
    DataError,
    entry_points="hiercos.data",
    rows={
        "icd10cm": "hiercos.data.built_in.icd10cm:ICD10CM",
        "groceries": "hiercos.data.built_in.eccd:GROCERIES",
        "listings": "hiercos.data.built_in.eccd:LISTINGS",
        "geonames": "hiercos.data.built_in.geonames:GEONAMES",
        "cifar100": "hiercos.paper.cifar100:CIFAR100",
        "fgvc-aircraft": "hiercos.paper.fgvc_aircraft:FGVC_AIRCRAFT",
        "inaturalist19": "hiercos.paper.inaturalist19:INATURALIST19",
        "tiered-imagenet-h": "hiercos.paper.tiered_imagenet:TIERED_IMAGENET_H",
    },
)
"""Data sets known by name: each row is a `BuiltIn`."""
