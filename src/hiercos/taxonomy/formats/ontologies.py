"""Graphs of terms from OBO files (read by obonet; only `is_a` edges count as parents) and from WordNet's nouns."""

import io
import re
from collections.abc import Iterator
from reprlib import repr as shortened

from hiercos.errors import reading
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.terms import Term, Terms

LAST_HEADER = "\n\nontology: any\n"  # obonet uses the last header, and warns on stderr if it names no ontology
ID = re.compile(r"id:\s*(\S+)")


def read_obo(text: str) -> Terms:
    """Read the graph of terms from OBO text, without obsolete terms; a note gives their number.

    Raises:
        TaxonomyError: if obonet is missing or cannot read the text, if there are no terms, and for a repeated id.
    """
    try:
        import obonet
    except ImportError as error:
        raise TaxonomyError("reading OBO needs obonet: pip install 'hiercos[obo]'") from error
    faults: list[str] = []
    rows = _rows(text, faults)
    with reading("not OBO that obonet can read", TaxonomyError):
        graph = obonet.read_obo(io.StringIO(text + LAST_HEADER), ignore_obsolete=False)
    terms = {}
    obsolete = {given_id for given_id, values in graph.nodes(data=True) if values.get("is_obsolete") == "true"}
    faults += [
        f"row {row}: obonet does not read {given_id!r}" for given_id, row in rows.items() if given_id not in graph
    ]
    if faults:
        raise TaxonomyError(faults)
    for given_id in (given_id for given_id in rows if given_id not in obsolete):
        parents = tuple(parent for _, parent, kind in graph.out_edges(given_id, keys=True) if kind == "is_a")
        name = graph.nodes[given_id].get("name") or given_id
        terms[given_id] = Term(f"row {rows[given_id]}", given_id, name, parents)
    if not rows:
        faults.append("expected terms ([Term]), got none")
    if faults:
        raise TaxonomyError(faults)
    count = len(obsolete)
    notes = (f"{count} obsolete term{'s were' if count > 1 else ' was'} left out.",) if count else ()
    return Terms(terms, notes)


def _rows(text: str, faults: list[str]) -> dict[str, int]:
    """Line number of each term's id, in file order; obonet does not keep line numbers."""
    rows: dict[str, int] = {}
    stanza = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("["):
            stanza = line.strip()
        elif stanza == "[Term]" and (match := ID.match(line)):
            if match[1] in rows:
                faults.append(f"row {number}: id {match[1]!r} is already row {rows[match[1]]}")
            rows.setdefault(match[1], number)
    return rows


HEADER = "  "  # prefix of the licence lines
MORE_GENERAL = ("@", "@i")  # hypernym, and hypernym of an instance such as a city
FIRST_WORD = 4  # fields before it: offset, file number, type, number of words


def read_wordnet(text: str) -> Terms:
    """Read the graph of nouns from WordNet's data.noun.

    Raises:
        TaxonomyError: for every line that is not a noun of WordNet, and for a file without nouns.
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
    """Noun of a line; None if the line is not a noun."""
    fields = line.partition(" | ")[0].split()
    try:
        offset, _, kind, words = fields[:FIRST_WORD]
        pointers = FIRST_WORD + 2 * int(words, 16)  # a number follows each word
        count = int(fields[pointers])
        if not 0 <= 4 * count <= len(fields) - pointers - 1:  # more pointers than the line has
            return None
        groups = [fields[place : place + 4] for place in range(pointers + 1, pointers + 1 + 4 * count, 4)]
        parents = tuple(f"n{target}" for sign, target, _, _ in groups if sign in MORE_GENERAL)
    except (ValueError, IndexError):
        return None
    if kind != "n" or not offset.isdecimal():
        return None
    return Term(where, f"n{offset}", fields[FIRST_WORD].replace("_", " "), parents)
