"""Linear heads that a solver fits: logistic regression, flat or along the taxonomy, and support vectors."""
