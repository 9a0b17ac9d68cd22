"""The data sets that are known by name, and where those that need files are looked for."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hiercos.data import icd10cm
from hiercos.data.dataset import Dataset

ROOT_VARIABLE = "HIERCOS_DATA"


@dataclass(frozen=True)
class BuiltIn:
    """A data set that is known by name.

    Attributes:
        description: one line for `hiercos data`.
        origin: where it comes from.
        where: where it looks: a package, or files below the data root.
        is_present: whether it can be loaded here and now, given the root the user named (None for `data_root`).
        load: the data set, given what the user wrote after the colon ("" for nothing) and the same root.
    """

    description: str
    origin: str
    where: str
    is_present: Callable[[Path | None], bool]
    load: Callable[[str, Path | None], Dataset]


def data_root(root: Path | None = None) -> Path:
    """The folder that data sets with files of their own are in: the one named, else that of the environment.

    The environment variable HIERCOS_DATA names it, and without that it is `~/.cache/hiercos/data`.
    """
    if root is not None:
        return root
    named = os.environ.get(ROOT_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "hiercos" / "data"


def _icd10cm(chapters: str, _root: Path | None) -> Dataset:
    return icd10cm.icd10cm(tuple(chapter.strip() for chapter in chapters.split(",") if chapter.strip()))


BUILT_IN = {
    "icd10cm": BuiltIn(
        description="diagnosis phrases in 22 chapters > 285 sections > 1,918 categories; "
        "icd10cm:9,10 keeps two chapters",
        origin="the package simple-icd-10-cm (ICD-10-CM 2026 of the CDC)",
        where="the installed package simple-icd-10-cm",
        is_present=lambda _: icd10cm.is_present(),
        load=_icd10cm,
    ),
}
