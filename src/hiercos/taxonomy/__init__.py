"""The label tree: a frozen value, its readers and writers, distances, and a catalogue. NumPy only."""

from hiercos.taxonomy.catalogue import CATALOGUE, check_taxonomy_source, load_taxonomy, open_taxonomy
from hiercos.taxonomy.checks import repeated
from hiercos.taxonomy.describe import TaxonomyFacts, counted, taxonomy_facts, tree_lines
from hiercos.taxonomy.distances import common_depth_block, hop_distance_block, subtree_sizes
from hiercos.taxonomy.edges import EdgeRow, tree_from_edge_rows
from hiercos.taxonomy.errors import TaxonomyError
from hiercos.taxonomy.formats import (
    FORMATS,
    read_taxonomy,
    read_terms,
    taxonomy_from_dict,
    taxonomy_to_dict,
    write_taxonomy,
)
from hiercos.taxonomy.labels import PATH_SIGN, LabelReader, path_parts
from hiercos.taxonomy.operations import (
    Floats,
    ancestor_sums,
    descendant_maxima,
    descendant_sums,
    families,
    node_values,
)
from hiercos.taxonomy.preferences import (
    FloatArray,
    Tail,
    decay_weights,
    distance_counts,
    distance_ranks,
    ordered_by_rank,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)
from hiercos.taxonomy.terms import PARENTS
from hiercos.taxonomy.tree import PATH_SEPARATOR, AnyArray, IntArray, Taxonomy

__all__ = [
    "CATALOGUE",
    "FORMATS",
    "PARENTS",
    "PATH_SEPARATOR",
    "PATH_SIGN",
    "AnyArray",
    "EdgeRow",
    "FloatArray",
    "Floats",
    "IntArray",
    "LabelReader",
    "Tail",
    "Taxonomy",
    "TaxonomyError",
    "TaxonomyFacts",
    "ancestor_sums",
    "check_taxonomy_source",
    "common_depth_block",
    "counted",
    "decay_weights",
    "descendant_maxima",
    "descendant_sums",
    "distance_counts",
    "distance_ranks",
    "families",
    "hop_distance_block",
    "load_taxonomy",
    "node_values",
    "open_taxonomy",
    "ordered_by_rank",
    "path_parts",
    "preferred_ranks",
    "rank_profiles",
    "read_taxonomy",
    "read_terms",
    "repeated",
    "reversed_disorder",
    "subtree_sizes",
    "taxonomy_facts",
    "taxonomy_from_dict",
    "taxonomy_to_dict",
    "tree_from_edge_rows",
    "tree_lines",
    "write_taxonomy",
]
