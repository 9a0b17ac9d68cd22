"""Committees of several methods on the same features, the default among them."""

from hiercos.methods.committees import flat_committee  # imported to register
from hiercos.methods.committees.committee import Committee
from hiercos.methods.committees.default import DEFAULT_RULE, FINE_TUNED_DEFAULT

__all__ = ["DEFAULT_RULE", "FINE_TUNED_DEFAULT", "Committee", "flat_committee"]
