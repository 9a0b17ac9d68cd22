"""OBO: ontologies such as the Gene Ontology, read by obonet. Only `is_a` makes a parent."""

import io
import re

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.terms import Term, Terms

LAST_HEADER = "\n\nontology: any\n"  # obonet keeps the last header, and warns on stderr if that names no ontology
ID = re.compile(r"id:\s*(\S+)")


def read_obo(text: str) -> Terms:
    """The graph of the terms, without those that are obsolete, which are counted.

    Raises:
        TaxonomyError: without obonet, for what it cannot read, no terms and an id that stands twice.
    """
    try:
        import obonet
    except ImportError as error:
        raise TaxonomyError("reading OBO needs obonet: pip install 'hiercos[obo]'") from error
    faults: list[str] = []
    rows = _rows(text, faults)
    try:
        graph = obonet.read_obo(io.StringIO(text + LAST_HEADER), ignore_obsolete=False)
    except (KeyError, ValueError) as error:
        raise TaxonomyError(f"not OBO that obonet can read: {' '.join(str(error).split())}") from error
    terms = {}
    obsolete = {given_id for given_id, values in graph.nodes(data=True) if values.get("is_obsolete") == "true"}
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
    """The line of each term's id, in the order of the file; obonet itself keeps no lines."""
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
