"""Files that hold a taxonomy: one module per format, and here the choice between them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from hiercos.files import write_atomically
from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats.edges import edges_from_rows, edges_text
from hiercos.taxonomy.formats.flat import flat_json_text, taxonomy_from_dict, taxonomy_to_dict
from hiercos.taxonomy.formats.json_text import parsed_json
from hiercos.taxonomy.formats.levels import levels_from_rows, levels_text
from hiercos.taxonomy.formats.lines import lines_text, read_lines
from hiercos.taxonomy.formats.nested import nested_json_text, read_json
from hiercos.taxonomy.formats.tables import read_table
from hiercos.taxonomy.tree import Taxonomy

__all__ = [
    "FORMATS",
    "Format",
    "read_taxonomy",
    "taxonomy_from_dict",
    "taxonomy_to_dict",
    "write_taxonomy",
]


@dataclass(frozen=True)
class Format:
    """How a taxonomy is told from a text and becomes one.

    Attributes:
        read: text -> taxonomy; raises `TaxonomyError`.
        write: taxonomy -> text that `read` reads back; raises `TaxonomyError` where the format cannot hold it.
        extensions: of the files that are taken to be in this format.
    """

    read: Callable[[str], Taxonomy]
    write: Callable[[Taxonomy], str]
    extensions: tuple[str, ...] = ()


def _read_any_table(text: str, delimiter: str) -> Taxonomy:
    """An edge table if there are columns `parent` and `child`, else a level table."""
    faults: list[str] = []
    columns, rows = read_table(text, delimiter, faults)
    from_rows = edges_from_rows if {"parent", "child"} <= set(columns) else levels_from_rows
    return from_rows(columns, rows, faults)


def _read_edge_table(text: str, delimiter: str) -> Taxonomy:
    faults: list[str] = []
    columns, rows = read_table(text, delimiter, faults)
    return edges_from_rows(columns, rows, faults)


def _read_flat_json(text: str) -> Taxonomy:
    return taxonomy_from_dict(parsed_json(text))


FORMATS = {
    "csv": Format(partial(_read_any_table, delimiter=","), partial(levels_text, delimiter=","), (".csv",)),
    "tsv": Format(partial(_read_any_table, delimiter="\t"), partial(levels_text, delimiter="\t"), (".tsv", ".tab")),
    "edges": Format(partial(_read_edge_table, delimiter=","), partial(edges_text, delimiter=",")),
    "edges-tsv": Format(partial(_read_edge_table, delimiter="\t"), partial(edges_text, delimiter="\t")),
    "lines": Format(read_lines, lines_text, (".txt",)),
    "json": Format(read_json, nested_json_text, (".json",)),
    "json-flat": Format(_read_flat_json, flat_json_text),
}


def read_taxonomy(path: str | PathLike[str], *, format: str | None = None) -> Taxonomy:
    """Read a taxonomy from a file in UTF-8.

    Args:
        path: the file.
        format: one of `FORMATS`; by default, by the extension.

    Raises:
        TaxonomyError: with every fault found, each beginning with the file and, where there is one, the row.
    """
    try:
        return _chosen_format(path, format).read(_text(path))
    except TaxonomyError as error:
        raise TaxonomyError(f"{fspath(path)}: {fault}" for fault in error.faults) from error


def write_taxonomy(taxonomy: Taxonomy, path: str | PathLike[str], *, format: str | None = None) -> None:
    """Write a taxonomy to a file in UTF-8, whole or not at all.

    What is read back has the same classes in the same order, the same names, ids and distances.

    Args:
        taxonomy: the taxonomy.
        path: the file, replaced if it is there.
        format: one of `FORMATS`; by default, by the extension.

    Raises:
        TaxonomyError: if the format cannot hold the taxonomy; then nothing is written.
        OSError: if the file cannot be written.
    """
    try:
        text = _chosen_format(path, format).write(taxonomy)
        if text.startswith("\ufeff"):
            raise TaxonomyError("the first name begins with a byte order mark, which reading drops; json can hold it")
        data = text.encode("utf-8")
    except TaxonomyError as error:
        raise TaxonomyError(f"{fspath(path)}: {fault}" for fault in error.faults) from error
    except UnicodeEncodeError as error:
        message = f"{fspath(path)}: {error.object[error.start :][:20]!r} is not text that UTF-8 can hold"
        raise TaxonomyError(message) from error
    write_atomically(path, data)


def _chosen_format(path: str | PathLike[str], name: str | None) -> Format:
    extension = Path(path).suffix.lower()
    if name == "edges" and extension in FORMATS["tsv"].extensions:
        return FORMATS["edges-tsv"]
    if name is not None:
        if name not in FORMATS:
            raise TaxonomyError(f"unknown format {name!r}: expected one of {', '.join(FORMATS)}")
        return FORMATS[name]
    known = {ending: form for form in FORMATS.values() for ending in form.extensions}
    if extension not in known:
        raise TaxonomyError(
            f"unknown extension {extension!r}: expected one of {', '.join(known)}, "
            f"or a format named among {', '.join(FORMATS)}"
        )
    return known[extension]


def _text(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise TaxonomyError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        bad = error.object[error.start]
        raise TaxonomyError(f"row {line}: byte 0x{bad:02x} is not UTF-8; expected the file in UTF-8") from error
