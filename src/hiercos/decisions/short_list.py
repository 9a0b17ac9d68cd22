"""The first classes to show a person: the answer, then the likeliest others."""

import numpy as np

from hiercos.decisions.decision import Decision
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import IntArray


def short_list(decision: Decision, posterior: Posterior, count: int) -> IntArray:
    """The classes to list for each sample, at most all C: shape (M, count).

    The answer of the rule comes first where it is a class; the others follow by probability, the method's own
    scores and then the lower index deciding between equals.

    Args:
        decision: the answers of M samples.
        posterior: their probabilities.
        count: how many classes to list.
    """
    scores = np.array(posterior.scores, dtype=np.float64)
    answered = np.flatnonzero(decision.classes >= 0)
    scores[answered, decision.classes[answered]] = np.inf
    listed: IntArray = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return listed
