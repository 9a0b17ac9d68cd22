"""Graphs of terms, such as ontologies and WordNet, and the trees extracted from them.

A term may have several parents, but a label tree needs one parent per node: either the selected part is a tree
already, or the first parent of each term is kept.
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
FIRST_PARENT_HINT = "hiercos taxonomy convert --parents first, in Python parents='first', keeps the first"
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

    def tree(self, *, under: str | None = None, classes: Sequence[str] = (), parents: str = "one") -> Taxonomy:
        """Extract a taxonomy with the names and ids of the terms.

        Args:
            under: id of the term used as the root; only its descendants go into the tree, and only parents among
                them count. All terms by default.
            classes: ids of the terms used as classes, in this order; only they and their ancestors go into the tree.
                By default the classes are the terms without children, in file order.
            parents: "one" to reject terms with several parents, "first" to keep the first parent.

        Raises:
            TaxonomyError: for every rejected term, every id that is unknown or not below `under`, a class that is
                an ancestor of another, a parent that is not a term, and cycles.
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
        """A sentence about classes of the tree whose children in the graph all went to other parents; None without any.

        Args:
            taxonomy: tree extracted from these terms with default classes.
        """
        above = {parent for given_id in taxonomy.ids for parent in self.by_id[given_id].parents}
        lost = [self.by_id[taxonomy.ids[leaf]] for leaf in taxonomy.leaves if taxonomy.ids[leaf] in above]
        if not lost:
            return None
        shown = [*(f"{term.id} {term.name}" for term in lost[:MOST_SHOWN]), *["…"] * (len(lost) > MOST_SHOWN)]
        one, more = "term lost its last child and is now a class", "terms lost their last child and are now classes"
        return f"{len(lost)} {one if len(lost) == 1 else more}: {', '.join(shown)}."

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
        shown = ", ".join([*named[:MOST_SHOWN], *["…"] * (len(named) > MOST_SHOWN)])
        return f"expected the id of a term, got {given_id!r}" + (f", which is the name of {shown}" if named else "")


def _orphan_faults(inside: Mapping[str, Term]) -> Iterator[str]:
    for term in inside.values():
        for parent in (parent for parent in term.parents if parent not in inside):
            yield f"{term.where}: {term.id} ({term.name!r}) is below {parent}, which is not a term of the file"


def _links(inside: dict[str, Term], under: str | None) -> tuple[dict[str, EdgeRow], dict[str, str]]:
    """Edge of each term to its first parent, and a fault for each term with several parents.

    Only parents below `under` count, or `under` itself, which is the root.
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
                f"expected one ({FIRST_PARENT_HINT})"
            )
    return links, several


def _tree_of_classes(
    links: Mapping[str, EdgeRow], classes: Sequence[str], several: Mapping[str, str], unknown: str
) -> Taxonomy:
    """The tree of the classes and their ancestors; `unknown` describes an unknown id in messages."""
    faults = [
        f"class {number}: {given_id!r} is {unknown}"
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
    """Ids from a term up to the top; none if the id is unknown."""
    while given_id in links:
        yield given_id
        given_id = links[given_id].parent
