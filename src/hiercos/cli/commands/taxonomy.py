"""`hiercos taxonomy`: show, check or convert a taxonomy, or compare two."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hiercos.cli.display.output import FILE_FORMATS, check_format, chosen_format, emit
from hiercos.cli.options.common import Output, check_target, file_lines
from hiercos.cli.options.groups import check_option, grouped, say
from hiercos.errors import listed
from hiercos.taxonomy import (
    CATALOGUE,
    FORMATS,
    PARENTS,
    LabelReader,
    Taxonomy,
    TaxonomyError,
    TaxonomyFacts,
    counted,
    kept_parents,
    open_taxonomy,
    part_above,
    part_below,
    read_taxonomy,
    taxonomy_facts,
    tree_lines,
    write_taxonomy,
)
from hiercos.taxonomy import crosswalk as link_nodes

REPEATED_SHOWN = 10  # number of repeated names to print
CLASSES_SHOWN = 10  # number of names of new classes to print

app = typer.Typer(no_args_is_help=True, help="Show, check or convert a taxonomy, or compare two.")

TaxonomySource = Annotated[
    str, typer.Argument(metavar="FILE", help=f"A file, a model folder, or a built-in taxonomy: {', '.join(CATALOGUE)}.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help=f"Format of FILE ({', '.join(FORMATS)}); by default, by the extension."),
]
WRITTEN = [name for name, form in FORMATS.items() if form.write]


@dataclass(frozen=True)
class PartOptions:
    """Options for taking a part of a taxonomy, such as a tree from an ontology."""

    under: Annotated[
        str | None, typer.Option(help="Id, path or name of the root: only nodes below it are used.", show_default=False)
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

    def part(self, taxonomy: Taxonomy, source: str) -> Taxonomy:
        """The part that is asked for; a note on nodes that become classes goes to stderr."""
        if self.parents is not None:
            check_option("--parents", self.parents, PARENTS)
        try:
            return self._part(taxonomy, source)
        except TaxonomyError as error:
            raise TaxonomyError(f"{source}: {fault}" for fault in error.faults) from error

    def _part(self, taxonomy: Taxonomy, source: str) -> Taxonomy:
        wanted = self._class_ids()
        if self.under is not None:
            reader = LabelReader(taxonomy, source)
            (node,) = reader.read([self.under], source="--under", row_name=None, inner=True)
            taxonomy = part_below(taxonomy, int(node))
        if self.parents is not None:
            taxonomy = self._with_kept_parents(taxonomy, source)
        if wanted:
            rows, ids = zip(*wanted, strict=True)
            reader, place = LabelReader(taxonomy, source), f"--classes {self.classes}"
            nodes = reader.read(ids, source=place, row_name=lambda index: f"row {rows[index]}", inner=True)
            taxonomy = part_above(taxonomy, nodes.tolist())
        return taxonomy

    def _with_kept_parents(self, taxonomy: Taxonomy, source: str) -> Taxonomy:
        kept = kept_parents(taxonomy, str(self.parents))
        added = kept.class_names[taxonomy.num_classes :]  # they follow the classes of the file
        if added and self.classes is None:
            count = counted(len(added), "node", "nodes")
            change = "is now a class" if len(added) == 1 else "are now classes"
            say(f"{source}: {count} without children {change}: {listed(added, CLASSES_SHOWN)}.")
        return kept

    def _class_ids(self) -> list[tuple[int, str]]:
        """Row and first word of each line of the file of classes."""
        if self.classes is None:
            return []
        lines = file_lines("--classes", self.classes, "an id on each line")
        return [(row, line.split()[0]) for row, line in lines]


@app.command()
@grouped
def show(
    *,
    source: TaxonomySource,
    file_format: FormatOption = None,
    choice: PartOptions,
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
def check(*, source: TaxonomySource, file_format: FormatOption = None, choice: PartOptions) -> None:
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
    choice: PartOptions,
    without_ids: Annotated[bool, typer.Option("--without-ids", help="Drop the ids and keep the names.")] = False,
) -> None:
    """Write a taxonomy in another format; names, ids and the order of the classes are kept."""
    check_target("OUTPUT", output)
    taxonomy = _taxonomy(source, file_format, choice)
    if without_ids:
        taxonomy = _without_ids(taxonomy)
    write_taxonomy(taxonomy, output, format=to_format)
    say(f"wrote {output}: {_size(taxonomy)}")


@app.command()
@grouped
def crosswalk(
    *,
    old: TaxonomySource,
    new: TaxonomySource,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", help="Table of known links: columns old, new and, optionally, weight.", exists=True),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="csv, json or table; by default the extension of --output.")
    ] = None,
    output: Output = None,
) -> None:
    """Print what each node of OLD becomes in NEW: same, renamed, moved, merged, split, gone, or new.

    Nodes are linked by --map, then by id, then by path. For a node that is gone, nodes with similar names are proposed,
    with a score; to accept one, delete the word proposed in its row. Then the table can be a --map, a crosswalk of
    hiercos recode, or of hiercos extend.
    """
    chosen = chosen_format(format, output, "csv")
    check_format(chosen, output, (*FILE_FORMATS, "table"))
    check_target("--output", output)
    before, after = (_taxonomy(source, None, PartOptions()) for source in (old, new))
    links = None
    if map_file is not None:
        from hiercos.evaluation import read_crosswalk

        links = read_crosswalk(map_file).links(before, after)
    found = link_nodes(before, after, links)
    if gone := [link.old for link in found.links if link.new < 0]:
        from hiercos.evaluation import similar_names

        found = link_nodes(before, after, links, similar_names(before, after, gone))
    emit(found.rows(), chosen, output)
    say(*found.lines())


def _taxonomy(source: str, file_format: str | None, choice: PartOptions) -> Taxonomy:
    """The taxonomy of a file or a built-in one; a source with a format is always a file."""
    taxonomy = open_taxonomy(source) if file_format is None else read_taxonomy(source, format=file_format)
    return choice.part(taxonomy, source)


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
