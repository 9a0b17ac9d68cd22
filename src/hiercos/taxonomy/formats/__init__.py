"""Readers and writers of taxonomy files: one module per format, and the table that chooses between them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from hiercos.errors import reading
from hiercos.files import first_bytes, write_atomically
from hiercos.limits import limit, limit_fault
from hiercos.taxonomy.build import kept_parents
from hiercos.taxonomy.checks import TaxonomyError, check_limits
from hiercos.taxonomy.formats.json_trees import (
    flat_json_text,
    nested_json_text,
    parsed_json,
    taxonomy_from_dict,
    taxonomy_from_json,
    taxonomy_to_dict,
)
from hiercos.taxonomy.formats.newick import newick_text, read_newick
from hiercos.taxonomy.formats.tables import (
    NUMBERED,
    edges_from_rows,
    edges_text,
    levels_from_rows,
    levels_text,
    lines_text,
    parse_table,
    read_lines,
    separator_fault,
)
from hiercos.taxonomy.terms import Terms, read_obo, read_wordnet
from hiercos.taxonomy.tree import Taxonomy

__all__ = [
    "FORMATS",
    "NUMBERED",
    "Format",
    "holds_terms",
    "read_taxonomy",
    "read_terms",
    "separator_fault",
    "taxonomy_from_dict",
    "taxonomy_from_json",
    "taxonomy_to_dict",
    "write_taxonomy",
]


@dataclass(frozen=True)
class Format:
    """A file format: its parser, its writer and its file extensions.

    Attributes:
        read: function from text to a taxonomy or a graph of terms; raises `TaxonomyError`.
        write: function from a taxonomy to text that `read` reads back; raises `TaxonomyError` if the format cannot
            hold it. None for a read-only format.
        extensions: file extensions of this format.
        holds_terms: whether `read` returns a graph of terms.
    """

    read: Callable[[str], Taxonomy | Terms]
    write: Callable[[Taxonomy], str] | None
    extensions: tuple[str, ...] = ()
    holds_terms: bool = False


def _read_any_table(text: str, delimiter: str) -> Taxonomy:
    """Read an edge table if there are columns `parent` and `child`, else a level table."""
    faults: list[str] = []
    columns, rows = parse_table(text, delimiter, faults)
    from_rows = edges_from_rows if {"parent", "child"} <= set(columns) else levels_from_rows
    return from_rows(columns, rows, faults)


def _read_edge_table(text: str, delimiter: str) -> Taxonomy:
    faults: list[str] = []
    columns, rows = parse_table(text, delimiter, faults)
    return edges_from_rows(columns, rows, faults)


def _read_flat_json(text: str) -> Taxonomy:
    return taxonomy_from_dict(parsed_json(text))


def _read_yaml(text: str) -> Taxonomy:
    from hiercos.taxonomy.formats.yaml_text import read_yaml

    return read_yaml(text)


def _yaml_text(taxonomy: Taxonomy) -> str:
    from hiercos.taxonomy.formats.yaml_text import yaml_text

    return yaml_text(taxonomy)


FORMATS = {
    "csv": Format(partial(_read_any_table, delimiter=","), partial(levels_text, delimiter=","), (".csv",)),
    "tsv": Format(partial(_read_any_table, delimiter="\t"), partial(levels_text, delimiter="\t"), (".tsv", ".tab")),
    "edges": Format(partial(_read_edge_table, delimiter=","), partial(edges_text, delimiter=",")),
    "edges-tsv": Format(partial(_read_edge_table, delimiter="\t"), partial(edges_text, delimiter="\t")),
    "lines": Format(read_lines, lines_text, (".txt",)),
    "json": Format(taxonomy_from_json, nested_json_text, (".json",)),
    "json-flat": Format(_read_flat_json, flat_json_text),
    "yaml": Format(_read_yaml, _yaml_text, (".yaml", ".yml")),
    "newick": Format(read_newick, newick_text, (".nwk", ".newick", ".tre")),
    "obo": Format(read_obo, None, (".obo",), holds_terms=True),
    "wordnet": Format(read_wordnet, None, (".noun",), holds_terms=True),
}


def read_taxonomy(path: str | PathLike[str], *, format: str | None = None, parents: str = "all") -> Taxonomy:
    """Read a taxonomy from a file in UTF-8.

    Args:
        path: file to read; from a graph of terms all are used, see `read_terms` to select a part.
        format: one of `FORMATS`; chosen by the extension by default.
        parents: parents that are kept of a node with several: "all", "first", "shortest" for the first of those
            nearest to the root, or "one" to reject such nodes.

    Raises:
        TaxonomyError: with every fault found, each prefixed with the file and, if known, the row.
    """
    parsed = _parsed(path, format)
    if isinstance(parsed, Terms):
        return parsed.tree(parents=parents)
    try:
        return kept_parents(parsed, parents)
    except TaxonomyError as error:
        raise TaxonomyError(f"{fspath(path)}: {fault}" for fault in error.faults) from error


def read_terms(path: str | PathLike[str], *, format: str | None = None) -> Terms:
    """Read a graph of terms, from which a tree can be extracted: an ontology, or the nouns of WordNet.

    Args:
        path: file to read.
        format: "obo" or "wordnet"; chosen by the extension by default.

    Raises:
        TaxonomyError: as `read_taxonomy`, and for a format that holds a tree.
    """
    parsed = _parsed(path, format)
    if isinstance(parsed, Taxonomy):
        graphs = ", ".join(name for name, form in FORMATS.items() if form.holds_terms)
        raise TaxonomyError(f"{fspath(path)}: expected a graph of terms ({graphs}), got a tree")
    return parsed


def holds_terms(path: str | PathLike[str], format: str | None = None) -> bool:
    """Whether a file would be read as a graph of terms; False for an unknown format."""
    if format is None:
        return any(Path(path).suffix.lower() in form.extensions for form in FORMATS.values() if form.holds_terms)
    return format in FORMATS and FORMATS[format].holds_terms


def _parsed(path: str | PathLike[str], format: str | None) -> Taxonomy | Terms:
    try:
        with reading("the file cannot be read in this format", TaxonomyError):
            parsed = _chosen_format(path, format, FORMATS).read(_text(path))
            check_size(parsed)
    except TaxonomyError as error:
        raise TaxonomyError(f"{fspath(path)}: {fault}" for fault in error.faults) from error
    return replace(parsed, source=fspath(path)) if isinstance(parsed, Terms) else parsed


def check_size(parsed: Taxonomy | Terms) -> None:
    """Raise a `TaxonomyError` for more nodes or levels than the limits."""
    if isinstance(parsed, Taxonomy):
        check_limits(parsed.num_nodes, parsed.height)
    else:
        check_limits(len(parsed.by_id), 0)


def write_taxonomy(taxonomy: Taxonomy, path: str | PathLike[str], *, format: str | None = None) -> None:
    """Write a taxonomy to a file in UTF-8, atomically.

    Reading it back gives the same classes in the same order, and the same names, ids and distances.

    Args:
        taxonomy: the tree to write.
        path: file to write; an existing one is replaced.
        format: one of `FORMATS`; chosen by the extension by default.

    Raises:
        TaxonomyError: if the format cannot hold the taxonomy; nothing is written then.
        OSError: if the file cannot be written.
    """
    try:
        text = _writer(path, format)(taxonomy)
        if text.startswith("\ufeff"):
            raise TaxonomyError("the first name begins with a byte order mark, which reading drops; json can hold it")
        data = text.encode("utf-8")
    except TaxonomyError as error:
        raise TaxonomyError(f"{fspath(path)}: {fault}" for fault in error.faults) from error
    except UnicodeEncodeError as error:
        message = f"{fspath(path)}: {error.object[error.start :][:20]!r} cannot be encoded in UTF-8"
        raise TaxonomyError(message) from error
    write_atomically(path, data)


def _writer(path: str | PathLike[str], name: str | None) -> Callable[[Taxonomy], str]:
    written = {form: value for form, value in FORMATS.items() if value.write}
    write = _chosen_format(path, name, written).write
    if write is None:
        raise TaxonomyError(f"this format can only be read: expected one of {', '.join(written)}")
    return write


def _chosen_format(path: str | PathLike[str], name: str | None, offered: Mapping[str, Format]) -> Format:
    """The format by its name, else by the extension; the error for an unknown one lists those offered."""
    extension = Path(path).suffix.lower()
    if name == "edges" and extension in FORMATS["tsv"].extensions:
        return FORMATS["edges-tsv"]
    if name is not None:
        if name not in FORMATS:
            raise TaxonomyError(f"unknown format {name!r}: expected one of {', '.join(offered)}")
        return FORMATS[name]
    known = {ending: form for form in FORMATS.values() for ending in form.extensions}
    if extension not in known:
        extensions = [ending for form in offered.values() for ending in form.extensions]
        raise TaxonomyError(
            f"unknown extension {extension!r}: expected one of {', '.join(extensions)}, "
            f"or a format named among {', '.join(offered)}"
        )
    return known[extension]


def _text(path: str | PathLike[str]) -> str:
    try:
        content = first_bytes(path, limit("file_bytes") + 1)
        if fault := limit_fault("file_bytes", len(content)):
            raise TaxonomyError(fault)
        return content.decode("utf-8-sig")
    except OSError as error:
        raise TaxonomyError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        bad = error.object[error.start]
        raise TaxonomyError(f"row {line}: byte 0x{bad:02x} is not UTF-8; expected the file in UTF-8") from error
