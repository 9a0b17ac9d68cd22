"""`hiercos taxonomy`: show, check or convert a taxonomy."""

from pathlib import Path
from typing import Annotated

import typer

from hiercos.taxonomy import CATALOGUE, FORMATS, Taxonomy, open_taxonomy, read_taxonomy, write_taxonomy
from hiercos.taxonomy.describe import TaxonomyFacts, taxonomy_facts, tree_lines

REPEATED_SHOWN = 10  # names

app = typer.Typer(no_args_is_help=True, help="Show, check or convert a taxonomy.")

Source = Annotated[str, typer.Argument(metavar="FILE", help=f"A file, or a built-in taxonomy: {', '.join(CATALOGUE)}.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help=f"Format of FILE ({', '.join(FORMATS)}); by default, by the extension."),
]


@app.command()
def show(
    source: Source,
    file_format: FormatOption = None,
    depth: Annotated[int, typer.Option(min=1, help="Levels of the tree to print.")] = 3,
    children: Annotated[int, typer.Option(min=1, help="Children of a node to print; the rest are counted.")] = 8,
) -> None:
    """Print the tree with the classes below each node, and its counts."""
    taxonomy = _taxonomy(source, file_format)
    for line in tree_lines(taxonomy, depth=depth, children=children):
        typer.echo(line)
    typer.echo(f"\n{_size(taxonomy)}\n{_facts_text(taxonomy_facts(taxonomy))}")


@app.command()
def check(source: Source, file_format: FormatOption = None) -> None:
    """Say every fault of a taxonomy, or that it is fine."""
    typer.echo(f"{source}: fine, {_size(_taxonomy(source, file_format))}")


@app.command()
def convert(
    source: Source,
    output: Annotated[Path, typer.Argument(help="The file to write.")],
    file_format: FormatOption = None,
    to_format: Annotated[
        str | None, typer.Option(help=f"Format of OUTPUT ({', '.join(FORMATS)}); by default, by the extension.")
    ] = None,
) -> None:
    """Write a taxonomy in another format; names, ids and the order of the classes stay."""
    taxonomy = _taxonomy(source, file_format)
    write_taxonomy(taxonomy, output, format=to_format)
    typer.echo(f"wrote {output}: {_size(taxonomy)}", err=True)


def _taxonomy(source: str, file_format: str | None) -> Taxonomy:
    """That of a file or a built-in one; what is given a format is a file."""
    return open_taxonomy(source) if file_format is None else read_taxonomy(source, format=file_format)


def _size(taxonomy: Taxonomy) -> str:
    return f"{taxonomy.num_nodes} nodes, {taxonomy.num_classes} classes, {taxonomy.height} levels"


def _facts_text(facts: TaxonomyFacts) -> str:
    repeated = [f"{name!r} ({count})" for name, count in facts.repeated_names.items()]
    more = f" and {len(repeated) - REPEATED_SHOWN} more" if len(repeated) > REPEATED_SHOWN else ""
    rows = {
        "nodes per level": ", ".join(map(str, facts.nodes_per_level)),
        "classes per level": ", ".join(map(str, facts.classes_per_level)),
        "children of a node": f"{facts.fewest_children} to {facts.most_children}, mean {facts.mean_children:.1f}",
        "nodes with one child": str(facts.one_child_nodes),
        "names of several nodes": ", ".join(repeated[:REPEATED_SHOWN]) + more if repeated else "none",
    }
    return "\n".join(f"{title}: {value}" for title, value in rows.items())
