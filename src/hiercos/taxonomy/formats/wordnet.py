"""WordNet's file of nouns, `data.noun`: a line for each set of synonyms, with pointers to more general ones.

The format is that of the manual page wndb(5WN). An id is `n` and the eight digits of the offset, as in ImageNet, whose
ids are those of WordNet 3.0; the name is the first synonym.
"""

from collections.abc import Iterator
from reprlib import repr as shortened

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.terms import Term, Terms

HEADER = "  "  # the lines of the licence begin with it
MORE_GENERAL = ("@", "@i")  # hypernym, and hypernym of an instance such as a city
FIRST_WORD = 4  # before it: offset, number of a file, type, number of words


def read_wordnet(text: str) -> Terms:
    """The graph of the nouns.

    Raises:
        TaxonomyError: for every line that is no noun of WordNet, and where there is none.
    """
    faults: list[str] = []
    terms: dict[str, Term] = {}
    for number, line in _lines(text):
        term = _term(f"row {number}", line)
        if term is None:
            faults.append(f"row {number}: expected a noun of WordNet's data.noun, got {shortened(line)}")
        else:
            terms[term.id] = term
    if not terms and not faults:
        faults.append("expected WordNet's data.noun, got no nouns")
    if faults:
        raise TaxonomyError(faults)
    return Terms(terms)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith(HEADER):
            yield number, line


def _term(where: str, line: str) -> Term | None:
    """The noun on a line; None if the line is something else."""
    fields = line.partition(" | ")[0].split()
    try:
        offset, _, kind, words = fields[:FIRST_WORD]
        pointers = FIRST_WORD + 2 * int(words, 16)  # each word goes with a number
        count = int(fields[pointers])
        groups = [fields[place : place + 4] for place in range(pointers + 1, pointers + 1 + 4 * count, 4)]
        parents = tuple(f"n{target}" for sign, target, _, _ in groups if sign in MORE_GENERAL)
    except (ValueError, IndexError):
        return None
    if kind != "n" or not offset.isdecimal():
        return None
    return Term(where, f"n{offset}", fields[FIRST_WORD].replace("_", " "), parents)
