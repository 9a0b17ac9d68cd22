"""The label tree: a frozen value, its readers and writers, distances, and a catalogue. NumPy only."""

from hiercos.taxonomy.catalogue import CATALOGUE, load_taxonomy, open_taxonomy
from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats import (
    FORMATS,
    read_taxonomy,
    read_terms,
    taxonomy_from_dict,
    taxonomy_to_dict,
    write_taxonomy,
)
from hiercos.taxonomy.tree import Taxonomy

__all__ = [
    "CATALOGUE",
    "FORMATS",
    "Taxonomy",
    "TaxonomyError",
    "load_taxonomy",
    "open_taxonomy",
    "read_taxonomy",
    "read_terms",
    "taxonomy_from_dict",
    "taxonomy_to_dict",
    "write_taxonomy",
]
