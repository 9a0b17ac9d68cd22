"""Conditional risk minimisation: rank the classes by their expected tree distance."""

from torch import Tensor

from hiercos.geometry import node_probabilities, tree_operations
from hiercos.taxonomy import Taxonomy


def crm_scores(probabilities: Tensor, taxonomy: Taxonomy) -> Tensor:
    """Minus the expected tree distance of every class, the true one drawn from the probabilities [karthik2021].

    A class c is H − depth(LCA) from every other class, so its risk is H less the probability of every node of its
    path, and its own probability counts for the levels below it too, where the path has ended:
    risk(c) = H − Σ_{v ∈ path(c)} P(v) − p_c (H − depth(c)). No table of distances is made: O(N) a sample.

    Args:
        probabilities: of the classes, shape (B, C), each row of sum 1.
        taxonomy: the tree.

    Returns:
        Scores, shape (B, C), from −H to 0; the highest is the class nearest on average to the true one. NaN
        where the probabilities are.

    Example:
        >>> import torch
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> crm_scores(torch.tensor([[0.375, 0.25, 0.375]]), t)  # as likely as the car, but nearer to the dog
        tensor([[-1.0000, -1.1250, -1.2500]])
    """
    operations = tree_operations(taxonomy, probabilities.device)
    sums = operations.ancestor_sums(node_probabilities(probabilities, taxonomy))  # (B, N)
    on_paths = operations.class_values(sums)  # (B, C)
    below = probabilities.new_tensor(taxonomy.height - taxonomy.depths[taxonomy.leaves])
    return on_paths.addcmul_(probabilities, below).sub_(taxonomy.height)
