"""The tables of the Hier-COS paper as data, to compare other runs with."""

from hiercos.benchmark.published.tables import (
    Figure,
    Note,
    PublishedError,
    PublishedRow,
    PublishedTable,
    published,
    published_table,
    published_tables,
)

__all__ = [
    "Figure",
    "Note",
    "PublishedError",
    "PublishedRow",
    "PublishedTable",
    "published",
    "published_table",
    "published_tables",
]
