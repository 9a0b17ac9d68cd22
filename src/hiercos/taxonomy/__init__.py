"""The label tree: a frozen value, its readers and writers, distances, and a catalogue. NumPy only."""

from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.tree import Taxonomy

__all__ = ["Taxonomy", "TaxonomyError"]
