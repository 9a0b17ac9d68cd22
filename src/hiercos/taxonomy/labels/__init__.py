"""Labels as users write them, to nodes and back: names, ids, paths, columns by level and class indices."""

from hiercos.taxonomy.labels.codec import LabelCodec, label_array, label_codec, path_texts
from hiercos.taxonomy.labels.paths import (
    ROOT_LABEL,
    inner_label_notes,
    label_indices,
    level_names,
    node_classes,
    nodes_from_levels,
    nodes_of_labels,
    other_path_sign,
    path_parts,
    taxonomy_from_levels,
    taxonomy_of_labels,
)
from hiercos.taxonomy.labels.reader import LabelReader, SampleLabels, read_sample_labels, set_targets, single_labels

__all__ = [
    "ROOT_LABEL",
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
    "single_labels",
    "taxonomy_from_levels",
    "taxonomy_of_labels",
]
