"""Modules: the transformation module, the Hier-COS head, level classifiers, and a projection of sparse vectors."""

from hiercos.nn.feature_layers import (
    NEVER_VARIES,
    Projection,
    SparseMatrix,
    Standardize,
    csr_tensor,
    feature_scale,
    scale_of,
)
from hiercos.nn.heads import (
    Activation,
    Basis,
    Columns,
    HierCOSHead,
    ResidualBlock,
    SlicedHeads,
    TransformationModule,
    UnitRowLinear,
    class_columns,
    hidden_layer,
    linear_head,
    node_columns,
)

__all__ = [
    "NEVER_VARIES",
    "Activation",
    "Basis",
    "Columns",
    "HierCOSHead",
    "Projection",
    "ResidualBlock",
    "SlicedHeads",
    "SparseMatrix",
    "Standardize",
    "TransformationModule",
    "UnitRowLinear",
    "class_columns",
    "csr_tensor",
    "feature_scale",
    "hidden_layer",
    "linear_head",
    "node_columns",
    "scale_of",
]
