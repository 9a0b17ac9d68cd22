"""WordNet's nouns as a taxonomy: the ImageNet classes of the paper's trees are synsets of version 3.0."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from reprlib import repr as shortened

from hiercos.taxonomy import EdgeRow, Taxonomy, TaxonomyError, tree_from_edge_rows

LICENCE = "  "  # prefix of the licence lines
HYPERNYMS = ("@", "@i")  # hypernym, and hypernym of an instance such as a city
FIRST_WORD = 4  # fields before it: offset, file number, type, number of words


def read_wordnet(path: str | PathLike[str]) -> Taxonomy:
    """Read the nouns of WordNet's `data.noun`; several hypernyms make a graph.

    A node's id is `n` and the offset, as in ImageNet, and its name the first synonym.
    """
    faults: list[str] = []
    rows: list[EdgeRow] = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
        if line.strip() and not line.startswith(LICENCE):
            try:
                rows += _edges(f"row {number}", line)
            except (ValueError, IndexError):
                faults.append(f"row {number}: expected a noun of WordNet's data.noun, got {shortened(line)}")
    if not rows and not faults:
        faults.append("expected WordNet's data.noun, got no nouns")
    try:
        return tree_from_edge_rows(rows, faults, root="", with_ids=True)
    except TaxonomyError as error:
        raise TaxonomyError(f"{path}: {fault}" for fault in error.faults) from error


def _edges(where: str, line: str) -> Iterator[EdgeRow]:
    """The edges of a noun from its hypernyms; raises a `ValueError` or an `IndexError` if the line is not a noun."""
    fields = line.partition(" | ")[0].split()
    offset, _, kind, words = fields[:FIRST_WORD]
    if kind != "n" or not offset.isdecimal():
        raise ValueError(line)
    pointers = FIRST_WORD + 2 * int(words, 16)  # a number follows each word
    end = pointers + 1 + 4 * int(fields[pointers])
    if not pointers < end <= len(fields):
        raise ValueError(line)
    groups = [fields[place : place + 4] for place in range(pointers + 1, end, 4)]
    parents = [f"n{target}" for sign, target, _, _ in groups if sign in HYPERNYMS]
    for parent in parents or [""]:
        yield EdgeRow(where, parent, f"n{offset}", fields[FIRST_WORD].replace("_", " "))
