"""ICD-10-CM, the diagnosis codes of the United States: 22 chapters > 285 sections > 1,918 categories.

The tabular list is an XML file inside the package simple-icd-10-cm. It is read directly, because
importing that package takes seconds.
"""

import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from hiercos.data.built_in.table import BuiltIn
from hiercos.data.dataset import Dataset
from hiercos.data.inputs import Texts
from hiercos.data.splits import folded, hash_split
from hiercos.errors import DataError
from hiercos.taxonomy import IntArray, Taxonomy

PACKAGE = "simple_icd_10_cm"
CODE_RANGE = re.compile(r"\s*\([A-Z0-9]{3}(-[A-Z0-9]{3})?\)$")  # at the end of a chapter's or section's name
TERM_NOTES = ("inclusionTerm", "includes")  # notes that are phrases for the same diagnosis


@dataclass(frozen=True)
class Category:
    """A class of the data set."""

    ids: tuple[str, str, str]  # codes of chapter, section and category, such as ("1", "A00-A09", "A00")
    names: tuple[str, str, str]  # names of chapter, section and category
    phrases: tuple[str, ...]  # all descriptions and inclusion terms at or below the category, duplicates included


def icd10cm(chapters: Sequence[str] = (), *, min_samples: int = 10) -> Dataset:
    """Diagnosis phrases and the category each belongs to.

    A sample is the description of any code at or below a category, or one of its inclusion terms. A phrase
    that a category lists twice (letter case and spaces aside) counts once. The split is by hash of the phrase,
    so a phrase that two categories share is in the same split for both.

    Args:
        chapters: chapters to keep, such as ("9", "10"); all by default.
        min_samples: smallest number of phrases (duplicates included) of a category that is kept.
    """
    categories = read_categories(tabular_file())
    known = list(dict.fromkeys(category.ids[0] for category in categories))
    if unknown := [chapter for chapter in chapters if chapter not in known]:
        expected = f"expected numbers from {known[0]} to {known[-1]} with commas between them"
        raise DataError(f"icd10cm: there is no chapter {chapter!r}; {expected}" for chapter in unknown)
    named = [chapter for chapter in known if chapter in chapters]
    chosen = [category for category in categories if category.ids[0] in (named or known)]
    kept = [category for category in chosen if len(category.phrases) >= min_samples]
    if not kept:
        raise DataError(f"icd10cm: no category of chapter {', '.join(named)} lists {min_samples} phrases or more")
    texts, classes = _samples(kept)
    taxonomy = _taxonomy(kept)
    left_out = f"icd10cm: {len(chosen) - len(kept):,} of {len(chosen):,} categories"
    note = f"{left_out} list fewer than {min_samples} phrases and are left out."
    return Dataset(
        name="icd10cm" + (f":{','.join(named)}" if named else ""),
        taxonomy=taxonomy,
        inputs=Texts(texts),
        nodes=taxonomy.leaves[classes],
        split=hash_split(folded(text) for text in texts),
        notes=(note,) if len(kept) < len(chosen) else (),
    )


def tabular_file() -> Path:
    """The XML file of the installed package, found without importing it."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for folder in folders for file in Path(folder, "data").glob("icd10c*tabular*.xml"))
    if not files:
        raise DataError(
            "icd10cm: expected the tabular list inside the package simple-icd-10-cm: pip install simple-icd-10-cm"
        )
    return files[-1]


def is_present() -> bool:
    """Whether the package simple-icd-10-cm is installed."""
    return importlib.util.find_spec(PACKAGE) is not None


@lru_cache(maxsize=1)  # some 8 MB: the file holds all chapters, of which one after the other is often asked for
def read_categories(file: Path) -> tuple[Category, ...]:
    """Categories in the order of their codes; sections that only group other sections have none."""
    return tuple(_categories(ElementTree.parse(file).getroot()))


def _categories(root: ElementTree.Element) -> Iterator[Category]:
    for chapter in root.iterfind("chapter"):
        for section in chapter.iterfind("section"):
            for category in section.iterfind("diag"):
                yield Category(
                    ids=(_text(chapter, "name"), _section_id(section), _text(category, "name")),
                    names=(_title(chapter), _title(section), _title(category)),
                    phrases=tuple(phrase for code in category.iter("diag") for phrase in _phrases(code)),
                )


def _section_id(section: ElementTree.Element) -> str:
    """Range of a section's codes; A00 becomes A00-A00, so that it differs from the category's code."""
    code_range = section.attrib["id"]
    return code_range if "-" in code_range else f"{code_range}-{code_range}"


def _phrases(code: ElementTree.Element) -> Iterator[str]:
    """Description and inclusion terms of one code, without those of the codes below it."""
    yield _text(code, "desc")
    for kind in TERM_NOTES:
        for notes in code.iterfind(kind):
            yield from (" ".join((note.text or "").split()) for note in notes.iterfind("note"))


def _text(element: ElementTree.Element, tag: str) -> str:
    return " ".join((element.findtext(tag) or "").split())


def _title(element: ElementTree.Element) -> str:
    return CODE_RANGE.sub("", _text(element, "desc"))


def _samples(categories: Sequence[Category]) -> tuple[tuple[str, ...], IntArray]:
    texts: list[str] = []
    labels: list[int] = []
    for label, category in enumerate(categories):
        distinct = {folded(phrase): phrase for phrase in reversed(category.phrases)}  # the first spelling is kept
        texts += reversed(distinct.values())
        labels += [label] * len(distinct)
    return tuple(texts), np.array(labels, dtype=np.int64)


def _taxonomy(categories: Sequence[Category]) -> Taxonomy:
    """Taxonomy of chapters, sections and categories with their codes as ids; classes are in the given order."""
    nodes: dict[str, int] = {}
    names: list[str] = []
    parents: list[int] = []
    for category in categories:
        parent = -1
        for code, name in zip(category.ids, category.names, strict=True):
            if code not in nodes:
                nodes[code] = len(names)
                names.append(name)
                parents.append(parent)
            parent = nodes[code]
    leaves = [nodes[category.ids[-1]] for category in categories]
    return Taxonomy.from_arrays(names, parents, leaves, ids=list(nodes)).with_ranks(("chapter", "section", "category"))


ICD10CM = BuiltIn(
    description="diagnosis phrases in 22 chapters > 285 sections > 1,918 categories; icd10cm:9,10 keeps two chapters",
    origin="the package simple-icd-10-cm (ICD-10-CM 2026 of the CDC)",
    where="the installed package simple-icd-10-cm",
    found=lambda _: is_present(),
    read=lambda _: icd10cm(),
    read_part=lambda text: icd10cm(tuple(chapter.strip() for chapter in text.split(",") if chapter.strip())),
    classes=1271,
    levels=3,
)
