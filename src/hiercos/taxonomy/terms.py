"""Graphs of terms, from OBO files and from WordNet's nouns, and the taxonomies extracted from them.

A term may have several parents. The taxonomy keeps all of them, or one of each: the first, or one that is nearest to
the root. OBO files are read by obonet; only `is_a` edges count as parents.
"""

import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import NamedTuple

from hiercos.errors import listed, reading
from hiercos.options import check_choice
from hiercos.taxonomy.build import ONE_PARENT_HINT, PARENTS
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.rows import EdgeRow, cycle_faults, tree_from_edge_rows
from hiercos.taxonomy.tree import Taxonomy

MOST_SHOWN = 5  # terms in a message


class Term(NamedTuple):
    """A term and its position in the file.

    Attributes:
        where: position in the file, for messages, such as `row 7`.
        id: unique id.
        name: display name.
        parents: ids of its more general terms, in file order; empty at the top.
    """

    where: str
    id: str
    name: str
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """A graph of terms.

    Attributes:
        by_id: terms by id, in file order.
        notes: sentences for the user about terms that were left out.
        source: name of the file, the prefix of every message; "" for no prefix.
    """

    by_id: Mapping[str, Term]
    notes: tuple[str, ...] = ()
    source: str = ""

    def tree(self, *, under: str | None = None, classes: Sequence[str] = (), parents: str = "all") -> Taxonomy:
        """Extract a taxonomy with the names and ids of the terms.

        Args:
            under: id of the term used as the root; only its descendants go into the tree, and only parents among
                them count. All terms by default.
            classes: ids of the terms used as classes, in this order; only they and their ancestors go into the tree.
                By default the classes are the terms without children, in file order.
            parents: parents that are kept of a term with several: "all", "first", "shortest" for the first of those
                nearest to the root, or "one" to reject such terms.

        Raises:
            TaxonomyError: for every rejected term, every id that is unknown or not below `under`, a class that is
                an ancestor of another, a parent that is not a term, and cycles.
        """
        check_choice("parents", parents, PARENTS)
        try:
            inside = self._inside(under)
            links = _links(inside, under)
            orphans = list(_orphan_faults(inside)) if under is None else []
            if faults := [*orphans, *cycle_faults(links)]:
                raise TaxonomyError(faults)
            if parents in ("first", "shortest"):
                links = _one_parent_each(links, parents)
            if classes:
                links = _above_classes(links, classes, "no term" if under is None else f"no term below {under}")
            if parents == "one" and (several := list(_several_parents_faults(links))):
                raise TaxonomyError(several)
            rows = (row for own in links.values() for row in own)
            return tree_from_edge_rows(rows, [], root="", with_ids=True)
        except TaxonomyError as error:
            prefix = f"{self.source}: " if self.source else ""
            raise TaxonomyError(f"{prefix}{fault}" for fault in error.faults) from error

    def lost_children_note(self, taxonomy: Taxonomy) -> str | None:
        """A sentence about classes of the tree whose children in the graph all went to other parents; None without any.

        Args:
            taxonomy: tree extracted from these terms with default classes.
        """
        above = {parent for given_id in taxonomy.ids for parent in self.by_id[given_id].parents}
        lost = [self.by_id[taxonomy.ids[leaf]] for leaf in taxonomy.leaves if taxonomy.ids[leaf] in above]
        if not lost:
            return None
        shown = listed((f"{term.id} {term.name}" for term in lost), MOST_SHOWN)
        one, more = "term lost its last child and is now a class", "terms lost their last child and are now classes"
        return f"{len(lost)} {one if len(lost) == 1 else more}: {shown}."

    def _inside(self, under: str | None) -> dict[str, Term]:
        """Terms below `under`, in file order; all terms for None."""
        if under is None:
            return dict(self.by_id)
        if under not in self.by_id:
            raise TaxonomyError(self._unknown(under))
        children: dict[str, list[str]] = defaultdict(list)
        for term in self.by_id.values():
            for parent in term.parents:
                children[parent].append(term.id)
        found, pending = {under}, [under]
        while pending:
            new = [child for child in children[pending.pop()] if child not in found]
            found.update(new)
            pending += new
        if len(found) == 1:
            raise TaxonomyError(f"term {under!r} has no children: expected a term with others below it")
        return {term.id: term for term in self.by_id.values() if term.id in found and term.id != under}

    def _unknown(self, given_id: str) -> str:
        named = [term.id for term in self.by_id.values() if term.name == given_id]
        named_so = f", which is the name of {listed(named, MOST_SHOWN)}" if named else ""
        return f"expected the id of a term, got {given_id!r}{named_so}"


def _orphan_faults(inside: Mapping[str, Term]) -> Iterator[str]:
    for term in inside.values():
        for parent in (parent for parent in term.parents if parent not in inside):
            yield f"{term.where}: {term.id} ({term.name!r}) is below {parent}, which is not a term of the file"


def _links(inside: dict[str, Term], under: str | None) -> dict[str, list[EdgeRow]]:
    """Edges of each term to its parents; only parents below `under` count, or `under` itself, which is the root."""
    links: dict[str, list[EdgeRow]] = {}
    for term in inside.values():
        own = dict.fromkeys(parent for parent in term.parents if under is None or parent == under or parent in inside)
        above = ["" if parent == under else parent for parent in own] or [""]
        links[term.id] = [EdgeRow(term.where, parent, term.id, term.name) for parent in above]
    return links


def _one_parent_each(links: Mapping[str, list[EdgeRow]], choice: str) -> dict[str, list[EdgeRow]]:
    """The edge of each term to its first parent, or to the first of those nearest to the root."""
    depths = _shortest_depths(links) if choice == "shortest" else {}
    return {name: [min(own, key=lambda row: depths.get(row.parent, 0))] for name, own in links.items()}


def _shortest_depths(links: Mapping[str, list[EdgeRow]]) -> dict[str, int]:
    """Length of the shortest path of each term to the root, whose name is ""."""
    children: dict[str, list[str]] = defaultdict(list)
    for name, own in links.items():
        for row in own:
            children[row.parent].append(name)
    depths, level = {"": 0}, [""]
    while level:
        below = list(dict.fromkeys(child for name in level for child in children[name] if child not in depths))
        depths.update(dict.fromkeys(below, depths[level[0]] + 1))
        level = below
    return depths


def _above_classes(
    links: Mapping[str, list[EdgeRow]], classes: Sequence[str], unknown: str
) -> dict[str, list[EdgeRow]]:
    """The edges of the classes and their ancestors, the classes last and in this order.

    Args:
        links: edges of each term.
        classes: ids of the classes.
        unknown: description of an unknown id in messages.
    """
    faults = [f"class {number}: {name!r} is {unknown}" for number, name in enumerate(classes, 1) if name not in links]
    first: dict[str, int] = {}
    for number, name in enumerate(classes, 1):
        if first.setdefault(name, number) != number:
            faults.append(f"class {number}: {name!r} is already class {first[name]}")
    above: dict[str, None] = {}
    pending = [row.parent for name in first if name in links for row in links[name]]
    while pending:
        if (name := pending.pop()) and name not in above:
            above[name] = None
            pending += [row.parent for row in links[name]]
    faults += [
        f"class {number}: class {links[name][0].name!r} is also an inner node: expected a leaf"
        for name, number in first.items()
        if name in above
    ]
    if faults:
        raise TaxonomyError(faults)
    return {name: own for name, own in links.items() if name in above} | {name: links[name] for name in first}


def _several_parents_faults(links: Mapping[str, list[EdgeRow]]) -> Iterator[str]:
    for name, own in links.items():
        if len(own) > 1:
            above = ", ".join(row.parent or "the root" for row in own)
            yield f"{own[0].where}: {name} ({own[0].name!r}) has {len(own)} parents, {above}; {ONE_PARENT_HINT}"


OBO_LAST_HEADER = "\n\nontology: any\n"  # obonet uses the last header, and warns on stderr if it names no ontology
OBO_ID = re.compile(r"id:\s*(\S+)")


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
    rows = _obo_rows(text, faults)
    with reading("not OBO that obonet can read", TaxonomyError):
        graph = obonet.read_obo(io.StringIO(text + OBO_LAST_HEADER), ignore_obsolete=False)
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


def _obo_rows(text: str, faults: list[str]) -> dict[str, int]:
    """Line number of each term's id, in file order; obonet does not keep line numbers."""
    rows: dict[str, int] = {}
    stanza = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("["):
            stanza = line.strip()
        elif stanza == "[Term]" and (match := OBO_ID.match(line)):
            if match[1] in rows:
                faults.append(f"row {number}: id {match[1]!r} is already row {rows[match[1]]}")
            rows.setdefault(match[1], number)
    return rows


WORDNET_HEADER = "  "  # prefix of the licence lines
WORDNET_HYPERNYMS = ("@", "@i")  # hypernym, and hypernym of an instance such as a city
WORDNET_FIRST_WORD = 4  # fields before it: offset, file number, type, number of words


def read_wordnet(text: str) -> Terms:
    """Read the graph of nouns from WordNet's data.noun.

    Raises:
        TaxonomyError: for every line that is not a noun of WordNet, and for a file without nouns.
    """
    faults: list[str] = []
    terms: dict[str, Term] = {}
    for number, line in _wordnet_lines(text):
        term = _wordnet_term(f"row {number}", line)
        if term is None:
            faults.append(f"row {number}: expected a noun of WordNet's data.noun, got {shortened(line)}")
        else:
            terms[term.id] = term
    if not terms and not faults:
        faults.append("expected WordNet's data.noun, got no nouns")
    if faults:
        raise TaxonomyError(faults)
    return Terms(terms)


def _wordnet_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith(WORDNET_HEADER):
            yield number, line


def _wordnet_term(where: str, line: str) -> Term | None:
    """Noun of a line; None if the line is not a noun."""
    fields = line.partition(" | ")[0].split()
    try:
        offset, _, kind, words = fields[:WORDNET_FIRST_WORD]
        pointers = WORDNET_FIRST_WORD + 2 * int(words, 16)  # a number follows each word
        count = int(fields[pointers])
        if not 0 <= 4 * count <= len(fields) - pointers - 1:  # more pointers than the line has
            return None
        groups = [fields[place : place + 4] for place in range(pointers + 1, pointers + 1 + 4 * count, 4)]
        parents = tuple(f"n{target}" for sign, target, _, _ in groups if sign in WORDNET_HYPERNYMS)
    except (ValueError, IndexError):
        return None
    if kind != "n" or not offset.isdecimal():
        return None
    return Term(where, f"n{offset}", fields[WORDNET_FIRST_WORD].replace("_", " "), parents)
