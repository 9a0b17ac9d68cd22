"""Labels as users write them, to nodes and back: names, ids, paths, columns by level and class indices."""

from hiercos.taxonomy.labels.codec import (
    LabelCodec,
    label_array,
    label_codec,
    level_names,
    nodes_from_levels,
    other_path_sign,
    path_texts,
    taxonomy_from_levels,
    taxonomy_of_labels,
)
from hiercos.taxonomy.labels.reader import (
    LabelReader,
    SampleLabels,
    inner_label_notes,
    label_indices,
    node_classes,
    nodes_of_labels,
    path_parts,
    read_sample_labels,
    set_targets,
    single_nodes,
)

__all__ = [
    "LabelCodec",
    "LabelReader",
    "SampleLabels",
    "inner_label_notes",
    "label_array",
    "label_codec",
    "label_indices",
    "level_names",
    "node_classes",
    "nodes_from_levels",
    "nodes_of_labels",
    "other_path_sign",
    "path_parts",
    "path_texts",
    "read_sample_labels",
    "set_targets",
    "single_nodes",
    "taxonomy_from_levels",
    "taxonomy_of_labels",
]
