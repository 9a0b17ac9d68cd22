"""The decision rules `none` and `crm`, which choose a class by score or by expected tree distance."""

from dataclasses import dataclass

import numpy as np

from hiercos.decisions.base import RULES, ClassRule
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, ancestor_sums


@RULES.register("none")
@dataclass(frozen=True)
class Likeliest(ClassRule):
    """The class with the highest score of the method, without the tree."""

    criterion = "class score"

    def class_values(self, posterior: Posterior) -> Floats:
        """The method's scores, or the probabilities if there are no scores; shape (M, C)."""
        return np.asarray(posterior.scores)


@RULES.register("crm")
@dataclass(frozen=True)
class LeastRisk(ClassRule):
    """The class with the smallest expected tree distance to the true one under the posterior [karthik2021].

    The distance of two classes is H − depth(LCA), so the risk of class c is H minus the probability of every node on
    its path, and its own probability counts for the levels below it too:
    risk(c) = H − Σ_{v ∈ path(c)} P(v) − p_c (H − depth(c)). No table of distances is made: O(N) a sample. In a graph,
    the set of ancestors replaces the path, and its size the depth.

    Example:
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> LeastRisk().class_values(Posterior([[0.375, 0.25, 0.375]], t))  # as likely as the car, nearer to the dog
        array([[-1.   , -1.125, -1.25 ]])
    """

    criterion = "minus the expected tree distance"

    def class_values(self, posterior: Posterior) -> Floats:
        """Minus the expected tree distance of each class, shape (M, C), from −H to 0."""
        taxonomy = posterior.taxonomy
        on_paths = ancestor_sums(posterior.nodes, taxonomy)[:, taxonomy.leaves]  # (M, C)
        levels_below = taxonomy.most_ancestors - taxonomy.ancestor_counts[taxonomy.leaves]
        values: Floats = on_paths + posterior.classes * levels_below - taxonomy.most_ancestors
        return values
