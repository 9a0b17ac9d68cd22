"""Cost of training a member: multiplications with stored entries of sparse features, counted and never measured."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from hiercos.methods import LabelledFeatures, Model
from hiercos.taxonomy import Taxonomy, nodes_of_labels

# passes over the data, the choice of settings included; for a pass at the siblings of a path, liblinear's slower steps
PASSES = {"siblings": 100, "centroids": 1, "tree-logistic": 250, "linear-svm": 300}
EPOCHS = 15  # of a head that is trained by gradient steps
DENSE = 0.2  # cost of a multiplication of dense features


def training_cost(model: Model, train: LabelledFeatures) -> float:
    """Cost of a member on training samples.

    A linear head multiplies every entry with the weights of all classes; siblings only with those of the children of
    the nodes on the path; centroids with one. A wide head multiplies every row with each of its parameters three times.
    """
    if model.solver is None:
        return wide_cost(len(train), sum(each.numel() for each in model.parameters()))
    return solved_cost(model.method, model.options, model.taxonomy, train)


def wide_cost(rows: int, parameters: int) -> float:
    """Cost of a head that is trained by gradient steps, on dense features."""
    return DENSE * 3 * EPOCHS * rows * parameters


def solved_cost(method: str, options: Mapping[str, Any], taxonomy: Taxonomy, train: LabelledFeatures) -> float:
    """Cost of a method with a solver."""
    passes = PASSES.get(method, 1)
    if method == "tree-logistic" and options.get("variance") is not None:
        passes = 2 * options["steps"]
    features: Any = train.features
    entries = np.diff(features.indptr) if issparse(features) else np.full(*features.shape)
    unit = 1.0 if issparse(features) else DENSE
    return unit * passes * float((entries * _outputs(method, taxonomy, train)).sum())


def _outputs(method: str, taxonomy: Taxonomy, train: LabelledFeatures) -> np.ndarray | int:
    """Number of outputs that each entry of a row is multiplied with, shape (M,) or the same for all."""
    if method != "siblings":
        return 1 if method == "centroids" else taxonomy.num_classes
    families = np.bincount(taxonomy.parents + 1, minlength=taxonomy.num_nodes + 1)[taxonomy.parents + 1]  # (N,)
    paths = taxonomy.path_table(nodes_of_labels(train.labels, taxonomy))
    outputs: np.ndarray = np.append(families, 0)[paths].sum(axis=1)
    return outputs
