"""The one exception of this package: everything that is wrong with a taxonomy, in one message."""

from hiercos.errors import FaultsError

HOLD_IDS = "csv, edges, json and yaml can, and hiercos taxonomy convert --without-ids drops them"


class TaxonomyError(FaultsError):
    """A taxonomy that cannot be used, or that a format cannot hold."""
