"""The method's own order: the likeliest class first."""

from dataclasses import dataclass

import numpy as np

from hiercos.decisions.base import RULES, ClassRule
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats


@RULES.register("none")
@dataclass(frozen=True)
class Likeliest(ClassRule):
    """The class with the highest score of the method; the tree plays no part in the choice."""

    criterion = "class score"

    def class_values(self, posterior: Posterior) -> Floats:
        """The method's scores, or the probabilities where there are none."""
        return np.asarray(posterior.scores)
