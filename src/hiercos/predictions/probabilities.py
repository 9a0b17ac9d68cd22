"""Probabilities of all nodes as columns of a table."""

import numpy as np

from hiercos.data import InputBatch
from hiercos.decisions import Posterior
from hiercos.predictions.answers import AnswerColumns
from hiercos.taxonomy import Floats, Taxonomy


def probability_columns(batch: InputBatch, posterior: Posterior) -> AnswerColumns:
    """Probabilities of a batch of inputs, one column for each node, level by level; its heading is the path.

    Args:
        batch: B inputs.
        posterior: probabilities of the inputs.
    """
    return node_columns(batch, np.minimum(posterior.nodes, 1.0), posterior.taxonomy)


def node_columns(batch: InputBatch, values: Floats, taxonomy: Taxonomy) -> AnswerColumns:
    """Values of all nodes for a batch of inputs, shape (B, N), as columns; see `probability_columns`."""
    nodes = {taxonomy.path_text(node): values[:, node].tolist() for node in range(taxonomy.num_nodes)}
    return {"row": list(batch.numbers), **nodes}
