"""Readers and writers of taxonomy files: one module per format, and the table that chooses between them."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from hiercos import storage
from hiercos.checks import ARRAY_BYTES, limit_fault
from hiercos.errors import reading
from hiercos.taxonomy.checks import TaxonomyError, check_limits
from hiercos.taxonomy.describe import counted
from hiercos.taxonomy.formats.json_trees import json_text, taxonomy_from_dict, taxonomy_from_json, taxonomy_to_dict
from hiercos.taxonomy.formats.networkx_graph import read_obo
from hiercos.taxonomy.formats.newick import newick_text, read_newick
from hiercos.taxonomy.formats.tables import (
    NUMBERED,
    edges_text,
    levels_text,
    lines_text,
    read_lines,
    read_table,
    separator_fault,
)
from hiercos.taxonomy.parts import kept_parents
from hiercos.taxonomy.tree import Taxonomy

__all__ = [
    "FORMATS",
    "NUMBERED",
    "Format",
    "read_taxonomy",
    "separator_fault",
    "taxonomy_from_dict",
    "taxonomy_from_json",
    "taxonomy_to_dict",
    "write_taxonomy",
]


@dataclass(frozen=True)
class Format:
    """A file format: its parser, its writer and its file extensions."""

    # function from text, and for a table its delimiter, to a taxonomy; raises `TaxonomyError`
    read: Callable[..., Taxonomy]
    # function from a taxonomy, and for a table the delimiter, to text that `read` reads back; raises `TaxonomyError` if
    # the format cannot hold it. None for a read-only format.
    write: Callable[..., str] | None
    extensions: tuple[str, ...] = ()  # file extensions of this format
    is_table: bool = False  # whether both take a delimiter
    holds_graphs: bool = False  # whether `write` takes nodes with several parents


def _read_yaml(text: str) -> Taxonomy:
    from hiercos.taxonomy.formats.yaml_text import read_yaml  # imports PyYAML, which ONNX models run without

    return read_yaml(text)


def _yaml_text(taxonomy: Taxonomy) -> str:
    from hiercos.taxonomy.formats.yaml_text import yaml_text

    return yaml_text(taxonomy)


HEADER = re.compile(r"[\r\n]*[^\r\n]+")
TAB_EXTENSIONS = (".tsv", ".tab")  # of tables whose delimiter is a tab
FORMATS = {
    "csv": Format(read_table, levels_text, (".csv", *TAB_EXTENSIONS), is_table=True),
    "edges": Format(partial(read_table, is_edges=True), edges_text, is_table=True, holds_graphs=True),
    "lines": Format(read_lines, lines_text, (".txt",)),
    "json": Format(taxonomy_from_json, json_text, (".json",), holds_graphs=True),
    "yaml": Format(_read_yaml, _yaml_text, (".yaml", ".yml")),
    "newick": Format(read_newick, newick_text, (".nwk", ".newick", ".tre")),
    "obo": Format(read_obo, None, (".obo",)),
}


def read_taxonomy(path: str | PathLike[str], *, format: str | None = None, parents: str = "all") -> Taxonomy:
    """Read a taxonomy from a file in UTF-8.

    Args:
        path: file to read.
        format: one of `FORMATS`; chosen by the extension by default.
        parents: parents that are kept of a node with several: "all", "first", "shortest" for the first of those
            nearest to the root, or "one" to reject such nodes.
    """
    with _naming(path):
        with reading("the file cannot be read in this format", TaxonomyError):
            form, text = _chosen_format(path, format, FORMATS), _text(path)
            taxonomy = form.read(text, _delimiter(path, text)) if form.is_table else form.read(text)
        check_limits(taxonomy.num_nodes)
        return kept_parents(taxonomy, parents)


@contextmanager
def _naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the file before every fault."""
    try:
        yield
    except TaxonomyError as error:
        raise TaxonomyError(f"{fspath(path)}: {fault}" for fault in error.faults) from error


def _delimiter(path: str | PathLike[str], text: str = "") -> str:
    """A tab if the extension says so, or if the header has tabs and no comma; else a comma."""
    header = HEADER.match(text)
    has_tabs = header is not None and "\t" in header[0] and "," not in header[0]
    return "\t" if has_tabs or Path(path).suffix.lower() in TAB_EXTENSIONS else ","


def write_taxonomy(taxonomy: Taxonomy, path: str | PathLike[str], *, format: str | None = None) -> None:
    """Write a taxonomy to a file in UTF-8, atomically.

    Reading it back gives the same classes in the same order, and the same names, ids and distances.

    Args:
        taxonomy: the tree to write.
        path: file to write; an existing one is replaced.
        format: one of `FORMATS`; chosen by the extension by default.
    """
    with _naming(path):
        text = _written_text(taxonomy, path, format)
        if text.startswith("\ufeff"):
            raise TaxonomyError("the first name begins with a byte order mark, which reading drops; json can hold it")
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TaxonomyError(f"{error.object[error.start :][:20]!r} cannot be encoded in UTF-8") from error
    storage.write(path, data)


def _written_text(taxonomy: Taxonomy, path: str | PathLike[str], name: str | None) -> str:
    written = {form: value for form, value in FORMATS.items() if value.write}
    chosen = _chosen_format(path, name, written)
    if chosen.write is None:
        raise TaxonomyError(f"this format can only be read: expected one of {', '.join(written)}")
    if not chosen.holds_graphs and not taxonomy.is_tree:
        several = counted(taxonomy.several_parents, "node", "nodes")
        formats = ", ".join(form for form, value in FORMATS.items() if value.holds_graphs)
        raise TaxonomyError(
            f"this format holds trees, got a graph with {several} of several parents; expected one of {formats}, or "
            "one parent of each node (hiercos taxonomy convert --parents shortest)"
        )
    return chosen.write(taxonomy, _delimiter(path)) if chosen.is_table else chosen.write(taxonomy)


def _chosen_format(path: str | PathLike[str], name: str | None, offered: Mapping[str, Format]) -> Format:
    """The format by its name, else by the extension; the error for an unknown one lists those offered."""
    if name is not None:
        if name not in FORMATS:
            raise TaxonomyError(f"unknown format {name!r}: expected one of {', '.join(offered)}")
        return FORMATS[name]
    extension = Path(path).suffix.lower()
    for form in FORMATS.values():
        if extension in form.extensions:
            return form
    extensions = [ending for form in offered.values() for ending in form.extensions]
    raise TaxonomyError(
        f"unknown extension {extension!r}: expected one of {', '.join(extensions)}, "
        f"or a format named among {', '.join(offered)}"
    )


def _text(path: str | PathLike[str]) -> str:
    try:
        with open(path, "rb") as file:  # a file, or a pipe such as the output of another command
            content = file.read(ARRAY_BYTES + 1)
            if fault := limit_fault("file bytes", len(content), ARRAY_BYTES):
                raise TaxonomyError(fault)
            content += file.read()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise TaxonomyError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        bad = error.object[error.start]
        raise TaxonomyError(f"row {line}: byte 0x{bad:02x} is not UTF-8; expected the file in UTF-8") from error
