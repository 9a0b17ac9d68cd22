"""Linear heads that a solver fits: logistic regression, flat or along the taxonomy, and support vectors."""

from hiercos.methods.linear import linear_svm, logistic  # imported to register

__all__ = ["linear_svm", "logistic"]
