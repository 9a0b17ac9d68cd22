"""`hiercos taxonomy`: show, check or convert a taxonomy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli.options.common import check_target
from hiercos.cli.options.groups import OptionError, check_option, grouped
from hiercos.errors import listed
from hiercos.taxonomy import (
    CATALOGUE,
    FORMATS,
    PARENTS,
    Taxonomy,
    TaxonomyError,
    TaxonomyFacts,
    counted,
    kept_parents,
    open_taxonomy,
    read_taxonomy,
    read_terms,
    taxonomy_facts,
    tree_lines,
    write_taxonomy,
)
from hiercos.taxonomy.formats import holds_terms

REPEATED_SHOWN = 10  # number of repeated names to print
CLASSES_SHOWN = 10  # number of names of new classes to print

app = typer.Typer(no_args_is_help=True, help="Show, check or convert a taxonomy.")

TaxonomySource = Annotated[
    str, typer.Argument(metavar="FILE", help=f"A file, a model folder, or a built-in taxonomy: {', '.join(CATALOGUE)}.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help=f"Format of FILE ({', '.join(FORMATS)}); by default, by the extension."),
]
WRITTEN = [name for name, form in FORMATS.items() if form.write]


@dataclass(frozen=True)
class TermOptions:
    """Options for extracting a tree from a graph of terms, such as an ontology or WordNet."""

    under: Annotated[
        str | None, typer.Option(help="Id of the root term: only terms below it are used.", show_default=False)
    ] = None
    classes: Annotated[
        Path | None,
        typer.Option(help="File with the ids of the classes, the first word of each line.", show_default=False),
    ] = None
    parents: Annotated[
        str | None,
        typer.Option(
            help="Parents kept of a node with several: all (the default), first, shortest, or one (an error).",
            show_default=False,
        ),
    ] = None

    def tree(self, source: str, file_format: str | None) -> Taxonomy:
        """The taxonomy from a graph of terms in a file; notes on omitted terms go to stderr."""
        if self.parents is not None:
            check_option("--parents", self.parents, PARENTS)
        terms = read_terms(source, format=file_format)
        for note in terms.notes:
            typer.echo(f"{source}: {note}", err=True)
        taxonomy = terms.tree(under=self.under, classes=self._class_ids(), parents=self.parents or "all")
        if self.classes is None and taxonomy.is_tree and (lost := terms.lost_children_note(taxonomy)):
            typer.echo(f"{source}: {lost}", err=True)
        return taxonomy

    def _class_ids(self) -> list[str]:
        if self.classes is None:
            return []
        try:
            lines = self.classes.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"--classes {self.classes}: cannot be read: {error}") from error
        if not any(line.strip() for line in lines):
            raise OptionError(f"--classes {self.classes}: expected an id on each line, got none")
        return [line.split()[0] for line in lines if line.strip()]

    def one_parent_each(self, taxonomy: Taxonomy, source: str) -> Taxonomy:
        """The taxonomy with the parents that are kept of a node with several."""
        if self.parents is None:
            return taxonomy
        check_option("--parents", self.parents, PARENTS)
        try:
            kept = kept_parents(taxonomy, self.parents)
        except TaxonomyError as error:
            raise TaxonomyError(f"{source}: {fault}" for fault in error.faults) from error
        if added := kept.class_names[taxonomy.num_classes :]:  # they follow the classes of the file
            count = counted(len(added), "node", "nodes")
            change = "is now a class" if len(added) == 1 else "are now classes"
            typer.echo(f"{source}: {count} without children {change}: {listed(added, CLASSES_SHOWN)}.", err=True)
        return kept

    def refuse_any(self, source: str) -> None:
        """Raise an `OptionError` if any of these options is given, because the file holds a tree."""
        given = {"--under": self.under, "--classes": self.classes}
        for name in (name for name, value in given.items() if value is not None):
            raise OptionError(f"{name}: expected a graph of terms (obo, wordnet), but {source} is a tree")


@app.command()
@grouped
def show(
    *,
    source: TaxonomySource,
    file_format: FormatOption = None,
    choice: TermOptions,
    depth: Annotated[int, typer.Option(min=1, help="Levels of the tree to print.")] = 3,
    children: Annotated[int, typer.Option(min=1, help="Children of a node to print; the rest are counted.")] = 8,
) -> None:
    """Print the tree with the number of classes below each node, and its counts."""
    taxonomy = _taxonomy(source, file_format, choice)
    for line in tree_lines(taxonomy, depth=depth, children=children):
        typer.echo(line)
    typer.echo(f"\n{_size(taxonomy)}\n{_facts_text(taxonomy_facts(taxonomy))}")


@app.command()
@grouped
def check(*, source: TaxonomySource, file_format: FormatOption = None, choice: TermOptions) -> None:
    """Report all faults of a taxonomy, or that it is valid."""
    typer.echo(f"{source}: valid, {_size(_taxonomy(source, file_format, choice))}")


@app.command()
@grouped
def convert(
    *,
    source: TaxonomySource,
    output: Annotated[Path, typer.Argument(help="Output file.")],
    file_format: FormatOption = None,
    to_format: Annotated[
        str | None, typer.Option(help=f"Format of OUTPUT ({', '.join(WRITTEN)}); by default, by the extension.")
    ] = None,
    choice: TermOptions,
    without_ids: Annotated[bool, typer.Option("--without-ids", help="Drop the ids and keep the names.")] = False,
) -> None:
    """Write a taxonomy in another format; names, ids and the order of the classes are kept."""
    check_target("OUTPUT", output)
    taxonomy = _taxonomy(source, file_format, choice)
    if without_ids:
        taxonomy = _without_ids(taxonomy)
    write_taxonomy(taxonomy, output, format=to_format)
    typer.echo(f"wrote {output}: {_size(taxonomy)}", err=True)


def _taxonomy(source: str, file_format: str | None, choice: TermOptions) -> Taxonomy:
    """The taxonomy of a file or a built-in one; a source with a format is always a file."""
    if holds_terms(source, file_format):
        return choice.tree(source, file_format)
    choice.refuse_any(source)
    taxonomy = open_taxonomy(source) if file_format is None else read_taxonomy(source, format=file_format)
    return choice.one_parent_each(taxonomy, source)


def _without_ids(taxonomy: Taxonomy) -> Taxonomy:
    try:
        parents = taxonomy.parents if taxonomy.is_tree else taxonomy.parent_lists
        return Taxonomy.from_arrays(taxonomy.names, parents, taxonomy.leaves)
    except TaxonomyError as error:
        raise TaxonomyError(f"--without-ids: {fault}" for fault in error.faults) from error


def _size(taxonomy: Taxonomy) -> str:
    nodes = counted(taxonomy.num_nodes, "node", "nodes")
    classes = counted(taxonomy.num_classes, "class", "classes")
    several = "" if taxonomy.is_tree else f", {counted(taxonomy.several_parents, 'node', 'nodes')} with several parents"
    return f"{nodes}, {classes}, {counted(taxonomy.height, 'level', 'levels')}{several}"


def _facts_text(facts: TaxonomyFacts) -> str:
    repeated = [f"{name!r} ({count})" for name, count in facts.repeated_names.items()]
    more = f" and {len(repeated) - REPEATED_SHOWN} more" if len(repeated) > REPEATED_SHOWN else ""
    families = f"{facts.fewest_children} to {facts.most_children}, mean {facts.mean_children:.1f}"
    rows = {
        "nodes per level": ", ".join(map(str, facts.nodes_per_level)),
        "classes per level": ", ".join(map(str, facts.classes_per_level)),
        "children per node, including the root": families,
        "nodes with one child, excluding the root": str(facts.one_child_nodes),
        **({"nodes with several parents": str(facts.several_parents)} if facts.several_parents else {}),
        "repeated names": ", ".join(repeated[:REPEATED_SHOWN]) + more if repeated else "none",
    }
    return "\n".join(f"{title}: {value}" for title, value in rows.items())
