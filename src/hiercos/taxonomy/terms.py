"""Graphs of terms, where one may have several parents, and the trees that can be taken from them.

Ontologies and WordNet are such graphs. A tree of labels needs one parent for each node, so either the part that is
asked for is a tree already, or the first parent is chosen.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hiercos.options import check_choice
from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.edges import EdgeRow, cycle_faults, tree_from_edge_rows
from hiercos.taxonomy.paths import PathRow, tree_from_path_rows
from hiercos.taxonomy.tree import Taxonomy

PARENTS = ("one", "first")
TAKE_FIRST = "hiercos taxonomy convert --parents first, in Python parents='first', takes the first"
MOST_SHOWN = 5  # terms in a message


class Term(NamedTuple):
    """A term as it stands somewhere.

    Attributes:
        where: the place, for messages, such as `row 7`.
        id: what it is known by.
        name: what people read.
        parents: the ids of the terms it is a kind of, in the order of the file; none at the top.
    """

    where: str
    id: str
    name: str
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """A graph of terms.

    Attributes:
        by_id: the terms, in the order of the file.
        notes: sentences about what was left out, for the user to see.
        source: where they come from, which every message begins with; "" for nothing.
    """

    by_id: Mapping[str, Term]
    notes: tuple[str, ...] = ()
    source: str = ""

    def tree(self, *, under: str | None = None, classes: Sequence[str] = (), parents: str = "one") -> Taxonomy:
        """A taxonomy with the names and ids of the terms.

        Args:
            under: the id of a term that is taken for the root: only what is below it, not itself, goes into the tree,
                and only such parents count; all terms by default.
            classes: ids of the terms to be the classes, in this order; only they and their ancestors go into the tree.
                By default the classes are the terms without children, in the order of the file.
            parents: "one" to refuse terms with several parents, "first" to take the first.

        Raises:
            TaxonomyError: for every such term, every id that is unknown or not below `under`, a class that is
                an ancestor of another, a parent that is no term, and cycles.
        """
        check_choice("parents", parents, PARENTS)
        try:
            inside = self._inside(under)
            links, several = _links(inside, under)
            strict = several if parents == "one" else {}
            orphans = list(_orphan_faults(inside)) if under is None else []
            if faults := [*orphans, *cycle_faults(links)]:
                raise TaxonomyError(faults)
            if not classes:
                return tree_from_edge_rows(links.values(), list(strict.values()), root="", with_ids=True)
            return _tree_of_classes(links, classes, strict, "no term" if under is None else f"no term below {under}")
        except TaxonomyError as error:
            prefix = f"{self.source}: " if self.source else ""
            raise TaxonomyError(f"{prefix}{fault}" for fault in error.faults) from error

    def lost_children_note(self, taxonomy: Taxonomy) -> str | None:
        """A sentence about the classes of a tree that have children in the graph, all of which went to other parents.

        Args:
            taxonomy: a tree of these terms, taken without a choice of classes; None where it has no such class.
        """
        above = {parent for given_id in taxonomy.ids for parent in self.by_id[given_id].parents}
        lost = [self.by_id[taxonomy.ids[leaf]] for leaf in taxonomy.leaves if taxonomy.ids[leaf] in above]
        if not lost:
            return None
        shown = [*(f"{term.id} {term.name}" for term in lost[:MOST_SHOWN]), *["…"] * (len(lost) > MOST_SHOWN)]
        one, more = "term lost its last child and is now a class", "terms lost their last child and are now classes"
        return f"{len(lost)} {one if len(lost) == 1 else more}: {', '.join(shown)}."

    def _inside(self, under: str | None) -> dict[str, Term]:
        """The terms below one, in the order of the file; all for None."""
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
            raise TaxonomyError(f"nothing is below {under!r}: expected a term with others below it")
        return {term.id: term for term in self.by_id.values() if term.id in found and term.id != under}

    def _unknown(self, given_id: str) -> str:
        named = [term.id for term in self.by_id.values() if term.name == given_id]
        shown = ", ".join([*named[:MOST_SHOWN], *["…"] * (len(named) > MOST_SHOWN)])
        return f"expected the id of a term, got {given_id!r}" + (f", which is the name of {shown}" if named else "")


def _orphan_faults(inside: Mapping[str, Term]) -> Iterator[str]:
    for term in inside.values():
        for parent in (parent for parent in term.parents if parent not in inside):
            yield f"{term.where}: {term.id} ({term.name!r}) is below {parent}, which is no term here"


def _links(inside: dict[str, Term], under: str | None) -> tuple[dict[str, EdgeRow], dict[str, str]]:
    """For each term the edge to its first parent, and a sentence about each that has several.

    Of the parents of a term below `under` only those that are below it too count, or `under` itself, as the root.
    """
    links: dict[str, EdgeRow] = {}
    several: dict[str, str] = {}
    for term in inside.values():
        own = [parent for parent in term.parents if under is None or parent == under or parent in inside]
        parent = own[0] if own and own[0] != under else ""
        links[term.id] = EdgeRow(term.where, parent, term.id, term.name)
        if len(own) > 1:
            several[term.id] = (
                f"{term.where}: {term.id} ({term.name!r}) has {len(own)} parents, {', '.join(own)}; "
                f"expected one ({TAKE_FIRST})"
            )
    return links, several


def _tree_of_classes(
    links: Mapping[str, EdgeRow], classes: Sequence[str], several: Mapping[str, str], otherwise: str
) -> Taxonomy:
    """The classes and what is above them; `otherwise` is what an unknown id is said to be."""
    faults = [
        f"class {number}: {given_id!r} is {otherwise}"
        for number, given_id in enumerate(classes, 1)
        if given_id not in links
    ]
    visited: dict[str, None] = {}
    rows = []
    for number, given_id in enumerate(classes, 1):
        keys = list(_path(links, given_id))[::-1]
        visited.update(dict.fromkeys(keys))
        rows += [PathRow(f"class {number}", keys, [links[key].name for key in keys], keys)] if keys else []
    faults += [several[key] for key in visited if key in several]
    return tree_from_path_rows(rows, faults)


def _path(links: Mapping[str, EdgeRow], given_id: str) -> Iterator[str]:
    """The ids from a term up to the top; none where the id is unknown."""
    while given_id in links:
        yield given_id
        given_id = links[given_id].parent
